"""The README as package indexes show it, where links into the repository lead nowhere."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)[^)]*\)")


class Readme(MetadataHookInterface):
    def update(self, metadata: dict) -> None:
        parts = Path(self.root, "README.md").read_text(encoding="utf-8").split("```")
        for place in range(0, len(parts), 2):  # between them is code
            parts[place] = LINK.sub(lambda link: "" if link[1] else link[2], parts[place])
        metadata["readme"] = {"content-type": "text/markdown", "text": "```".join(parts)}
