"""A reviewer for each pull request: whoever has reviewed fewest lines, and never the author."""

from evenhand.serve import background_service

REQUESTS = [("Ann", 120), ("Ben", 40), ("Ann", 80), ("Cem", 300), ("Dan", 10)]

with background_service() as evenhand:  # or DecisionClient(address, token) of a running service
    evenhand.make_pool("reviews", ["Ann", "Ben", "Cem", "Dan"])
    for number, (author, lines) in enumerate(REQUESTS, 1):
        wish = {"amount": lines, "without": [author], "reason": f"pull request {number}"}
        chosen = evenhand.take("reviews", key=f"request-{number}", **wish)["shares"][0]
        print(f"#{number} by {author}: {chosen['name']}, who {chosen['reason']}")
    print(evenhand.why("reviews", "Ann")["sentence"])
