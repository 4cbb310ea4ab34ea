"""Code of the project itself, named in the settings as `package.module:attribute`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_fineval.errors import InputError, nearest


def named(dotted: str, root: Path, setting: str) -> Callable[..., Any]:
    """The callable that a setting names.

    Args:
        dotted: `package.module:attribute`; the module may lie in the project's root.
        root: the project's root.
        setting: how the message names the place, as in `client = "shop.models:make"`.

    Raises:
        InputError: no dotted path, a module that cannot be imported, or no such callable in it.
    """
    module_name, _, attribute = dotted.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), attribute]):
        raise InputError(f'{setting} is no dotted path: write "package.module:factory"')
    if str(root) not in sys.path:
        # After all else, so that a file of the project cannot hide an installed package.
        sys.path.append(str(root))
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise InputError(
            f"{setting} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    found: Any = getattr(module, attribute, None)
    if not callable(found):
        names = [name for name in vars(module) if not name.startswith("_")]
        raise InputError(
            f'{setting}: module {module_name} has no callable "{attribute}"; '
            + nearest(attribute, names)
        )
    checked: Callable[..., Any] = found
    return checked
