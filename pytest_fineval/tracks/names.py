"""Names of all tracks; importing this loads none of them."""

MODULES: dict[str, tuple[str, str]] = {
    "finqa": ("finqa", "TRACK"),
    "finqa-programs": ("finqa", "PROGRAMS"),
    "convfinqa": ("convfinqa", "TRACKS"),
    "convfinqa-programs": ("convfinqa", "TRACKS"),
    "convfinqa-own-history": ("convfinqa", "TRACKS"),
    "convfinqa-own-history-programs": ("convfinqa", "TRACKS"),
    "tatqa": ("tatqa", "TRACK"),
    "jfinqa": ("jfinqa", "TRACK"),
    "indiafinbench": ("indiafinbench", "TRACK"),
    "indiafinbench-flags": ("indiafinbench", "FLAGS"),
    "financebench": ("financebench", "TRACKS"),
    "financebench-oracle": ("financebench", "TRACKS"),
    "financereasoning": ("financereasoning", "TRACK"),
    "financemath": ("financemath", "TRACK"),
    "finchain": ("finchain", "TRACKS"),
    "rusfinchain": ("finchain", "TRACKS"),
    "finesse": ("finesse", "TRACK"),
    "wealthops": ("wealthops", "TRACK"),
}
"""Module and attribute by name. A track is a benchmark under one protocol."""
