"""The fenced blocks of a guide, as the tests keep them in guide/."""
import collections
import re

SUFFIXES = {"python": ".py", "yaml": ".yaml", "": ".txt"}


def blocks_of(text, changes=()):
    """{file name: text} of a guide's fenced blocks, those for a shell left out. changes: pairs (old, new) in the Python blocks."""
    found, counts, heading, kind, lines = {}, collections.Counter(), "", None, []
    for line in text.split("\n"):
        fence = re.fullmatch(r"```(\w*)", line)
        if kind is not None and line == "```":
            if kind in SUFFIXES:
                counts[kind] += 1
                slug = re.sub(r"[^a-z0-9]+", "_", re.sub(r"\(.*\)|^\d+\. ", "", heading.lower())).strip("_")
                found[f"{counts[kind]:02}_{slug}{SUFFIXES[kind]}"] = as_kept(kind, "\n".join(lines) + "\n", changes)
            kind = None
        elif kind is not None:
            lines.append(line)
        elif fence:
            kind, lines = fence.group(1), []
        elif line.startswith("#"):
            heading = line.lstrip("# ")
    return found


def as_kept(kind, text, changes):
    """A Python block with the changes, and with `pass` where its body is only a comment."""
    if kind != "python":
        return text
    for old, new in changes:
        text = text.replace(old, new)
    try:
        compile(text, "guide", "exec")
    except IndentationError:
        text += "    pass\n"
    return text
