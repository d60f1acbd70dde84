"""The OpenAPI description, and its page, which needs nothing from the network and runs nothing."""

from __future__ import annotations

from html.parser import HTMLParser

from serving import small_service


class Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]


def test_the_page_shows_every_route_and_loads_nothing(tmp_path):
    with small_service(tmp_path) as client:
        described = client.get("/openapi.json").json()
        page = client.get("/docs")
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"<code>{method.upper()} {path}</code>" in page.text
    seen = Seen()
    seen.feed(page.text)
    assert not {"script", "img", "link", "iframe"} & set(seen.tags)
    inside = {link[1:] for link in seen.links if link.startswith("#")}
    assert all(link.startswith(("/", "#")) for link in seen.links)
    assert len(inside) == sum(map(len, described["paths"].values()))
    assert all(f'id="{anchor}"' in page.text for anchor in inside)
    assert "default-src 'none'; style-src 'sha256-" in page.headers["content-security-policy"]


def test_every_route_says_how_it_refuses(tmp_path):
    with small_service(tmp_path) as client:
        described = client.get("/openapi.json").json()
    assert "HTTPValidationError" not in str(described)
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert operation["description"], path
            if path.startswith("/v1"):
                assert operation["security"] == [{"token": []}]
                assert "application/problem+json" in operation["responses"]["422"]["content"]
