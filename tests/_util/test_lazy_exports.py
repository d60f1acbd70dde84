"""What a package exports is loaded when it is first used, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenhand._util.lazy_exports import lazy_exports


def test_a_name_is_loaded_when_it_is_used(tmp_path, monkeypatch):
    package = tmp_path / "made_up_package"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from evenhand._util.lazy_exports import lazy_exports\n"
        "__getattr__, __dir__, _names = lazy_exports(\n"
        "    __name__, {'one': ('first', 'second'), 'deep.two': ('third',)}\n"
        ")\n"
        "__all__ = ['__version__', *_names]\n"
        "__version__ = '1'\n"
    )
    (package / "one.py").write_text("first = 1\nsecond = 2\n")
    (package / "deep" / "two.py").write_text("third = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import made_up_package

    assert dir(made_up_package) == ["__version__", "first", "second", "third"]
    assert "made_up_package.deep.two" not in sys.modules
    assert made_up_package.third is made_up_package.third
    assert "made_up_package.one" not in sys.modules
    assert (made_up_package.first, made_up_package.second) == (1, 2)
    with pytest.raises(AttributeError, match="'made_up_package' has no attribute 'fourth'"):
        _ = made_up_package.fourth


def test_it_loads_nothing_heavy():
    code = (
        "import sys, evenhand._util.lazy_exports\n"
        "for heavy in ('jax', 'numpy', 'gymnasium'): assert heavy not in sys.modules, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert lazy_exports("evenhand", {})[2] == []


@pytest.mark.parametrize("package", ["evenhand", "evenhand.interop", "evenhand.learn"])
def test_every_name_that_is_exported_is_there(package):
    import importlib

    module = importlib.import_module(package)
    assert module.__all__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
