"""Settings of the site: Markdown pages; commands and public names come from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pygments.lexers.data import JsonLexer
from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from evenhand import __version__

project = "evenhand"
author = "the evenhand developers"
copyright = author  # noqa: A001  # Sphinx's name for it
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "command_reference", "public_names"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes = False  # quotes in expressions are part of them

# Some functions have one name in two modules, such as `rollout`; both are on the page.
suppress_warnings = ["ref.python"]

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # a base class documents its own methods
toc_object_entries_show_parents = "hide"
autodoc_class_signature = "mixed"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 80
# Extras: the same page whether they are installed or not.
autodoc_mock_imports = ["minari", "mlflow", "stable_baselines3", "tensorboard", "torch"]

html_theme = "furo"
html_title = f"evenhand {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    # Fonts of the reader's own machine: the site opens offline.
    "light_css_variables": {
        "font-stack": "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
    },
}
pygments_style = "friendly"
pygments_dark_style = "monokai"


def setup(app: Any) -> None:
    # Commands have no prompt, so that a block can be copied as a whole.
    app.add_lexer("console", BashLexer)
    app.add_lexer("csv", TextLexer)
    app.add_lexer("jsonl", JsonLexer)
