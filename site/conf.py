# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the site, which site/make.sh puts together: sources of the documents in the
same folders as in the tree, with the references that were made for it."""
import glob
import os
import re
import shutil

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

ROOT = os.environ["GPUEXEC_ROOT"]


def headers():
    for path in glob.glob(os.path.join(ROOT, "include/gpuexec/*.h")):
        with open(path, encoding="utf-8") as header:
            yield header.read()


TEXT = "".join(headers())
# Those of the build are in no reference.
PUBLIC = set(re.findall(r"\b(?:gx|GX)_\w+", TEXT)) - {"GX_API", "GX_BUILDING", "GX_STATIC"}
version = ".".join(re.findall(r"^#define GX_VERSION_\w+ (\d+)$", TEXT, flags=re.M))
release = version
project = "gpuexec"
author = "gpuexec maintainers"
project_copyright = "the authors of gpuexec; Apache-2.0"

extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
myst_heading_anchors = 4
highlight_language = "none"
nitpicky = True
nitpick_ignore = [("c:identifier", name) for name in ("size_t", "int32_t", "uint32_t", "uint64_t")]
nitpick_ignore_regex = [("py:class", ".*")] # of typing and numpy

html_theme = "furo"
html_title = "gpuexec"
html_static_path = ["static"]
templates_path = ["templates"]
html_sidebars = {"**": ["sidebar/brand.html", "versions.html", "sidebar/search.html", "sidebar/scroll-start.html",
                        "sidebar/navigation.html", "sidebar/scroll-end.html"]}
html_css_files = ["site.css"]
html_favicon = None
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
html_show_sourcelink = False
maximum_signature_line_length = 88
pygments_style = "default"
pygments_dark_style = "monokai"
toc_object_entries_show_parents = "hide"



class LinkNames(SphinxTransform):
    """Names of the API between backticks become links to the reference."""

    default_priority = 210

    def apply(self, **kwargs):
        for node in list(self.document.findall(nodes.literal)):
            name = node.astext().removesuffix("()")
            if name not in PUBLIC or isinstance(node.parent, (addnodes.pending_xref, nodes.reference)):
                continue
            link = addnodes.pending_xref(
                "", refdomain="c", reftype="func", reftarget=name, refexplicit=True,
                refdoc=self.env.docname, refwarn=False)
            node.replace_self(link)
            link += node


class WholeNames(SphinxTransform):
    """Short pieces of code, such as names of fields, stay on one line."""

    default_priority = 210

    def apply(self, **kwargs):
        for node in self.document.findall(nodes.literal):
            if len(node.astext()) <= 16:
                node["classes"].append("name")


def page_of(path):
    """The page that shows a file of the tree, or the README of a folder; None: there is none."""
    if path == "README.md":
        return "index.md"
    if path.startswith("examples/") and os.path.isfile(os.path.join(ROOT, path)):
        return path + ".rst"
    if path == "examples":
        return "examples/index.rst"
    return path if path.endswith(".md") else path + "/README.md"


def link_into_site(app, docname, source):
    """A link to something in the tree leads to its page, or to a copy of the file. The text of one to
    a folder without a page stays."""
    here = os.path.dirname(docname)

    def target(match):
        text, to = match[1], match[2]
        path, _, anchor = to.partition("#")
        path = os.path.normpath(os.path.join(here, path))
        page = page_of(path)
        if os.path.exists(os.path.join(app.srcdir, page)):
            to = os.path.relpath(page, here or ".") + ("#" + anchor if anchor else "")
        elif os.path.isfile(os.path.join(ROOT, path)):
            copy = os.path.join(app.srcdir, path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, path), copy)
        elif os.path.isdir(os.path.join(ROOT, path)):
            return text
        return f"[{text}]({to})"

    if app.env.doc2path(docname).suffix != ".md":
        return
    parts = re.split(r"(^```.*?^```$|`[^`\n]+`)", source[0], flags=re.M | re.S)
    link = re.compile(r"(?<!!)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
    parts[::2] = [link.sub(target, part) for part in parts[::2]]
    text = "".join(parts)
    if not text.lstrip().startswith("# "): # results as a program wrote them
        text = f"# {docname}\n\n{text}"
    if docname == "bench/results/README":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n*/*\n*/peers/*\n```\n"
    source[0] = text


def setup(app):
    app.add_transform(LinkNames)
    app.add_transform(WholeNames)
    app.connect("source-read", link_into_site)
