"""How Sphinx builds the site: `make docs`. The pages are Markdown that reads on its own."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "holdfast"
author = "the holdfast developers"
copyright = "the holdfast developers"  # noqa: A001
release = version = installed_version("holdfast-trees")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "mathml",
]
exclude_patterns = ["_build", "gallery/*.zip"]
default_role = "py:obj"
smartquotes = False  # "gini" is what one types
html_math_renderer = "mathml"
suppress_warnings = ["config.cache"]  # of sphinx-gallery's functions, which cannot be pickled

# Markdown: headings of every level are targets of links, and formulas stand between dollars.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# The reference: what the docstrings say. Types are in the source, where an editor shows them.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_ivar = True
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "min_reported_time": 1e6,  # times of this machine say nothing
    "capture_repr": (),
    "abort_on_example_error": True,
    "write_computation_times": False,
    "copyfile_regex": r"^$",
}

html_theme = "pydata_sphinx_theme"
html_title = "holdfast"
html_static_path = ["_static"]
html_css_files = ["holdfast.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "holdfast"},
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tutorial": [], "changelog": []}

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
