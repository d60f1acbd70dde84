"""Vega, Vega-Lite and Vega-Embed as one script, kept in the package as `vega.js`.

Bundling takes seconds, too long for every page; so it is done once for each version of vl-convert,
by `python -m evenhand.report.html.vega_bundle`. A system test compares the two.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

SNIPPET = "window.vegaEmbed = vegaEmbed;"
NOTICE = """\
/* Vega {vega}, Vega-Lite {lite} and Vega-Embed {embed}, with what they need, as vl-convert-python
   {convert} bundles them; evenhand.report.html.vega_bundle makes this file.
   Copyright (c) University of Washington Interactive Data Lab and contributors; BSD 3-Clause
   licence: redistribution and use in source and binary forms, with or without modification, are
   permitted provided that this notice and the following disclaimer are kept, and that the names of
   the copyright holders and contributors are not used to endorse or promote derived products
   without permission. Provided "as is", without any express or implied warranty; in no event shall
   the copyright holders or contributors be liable for any damages. Contains D3 and semver (ISC
   licence), json-stringify-pretty-compact, fast-deep-equal and fast-json-patch (MIT licence). */
"""


def bundle() -> str:
    """The script, with its notice."""
    import vl_convert

    notice = NOTICE.format(
        vega=vl_convert.get_vega_version(),
        lite=vl_convert.get_vegalite_versions()[-1],
        embed=vl_convert.get_vega_embed_version(),
        convert=version("vl-convert-python"),
    )
    return notice + vl_convert.javascript_bundle(SNIPPET)


if __name__ == "__main__":
    (Path(__file__).with_name("assets") / "vega.js").write_text(bundle(), encoding="utf-8")
