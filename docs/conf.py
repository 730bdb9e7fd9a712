"""How Sphinx builds these pages: `make docs`."""

import sys
from pathlib import Path

from cyprof import __version__

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "cyprof"
release = version = __version__
project_copyright = "the authors of cyprof"
extensions = ["myst_parser", "command_line"]
exclude_patterns = ["_build", "example", "tutorial/figures"]
myst_heading_anchors = 3
smartquotes = False  # the program's arguments follow two hyphens, not a dash
pygments_style = "a11y-high-contrast-light"

html_theme = "pydata_sphinx_theme"
html_title = f"cyprof {release}"
html_static_path = ["_static"]
html_css_files = ["cyprof.css"]
html_show_sourcelink = False
html_sidebars = {"*": []}  # pages of the first level have none below them
html_theme_options = {
    "logo": {"text": "cyprof"},
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
