"""Tables of results for pandas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from softcosine.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["data_frame"]


def data_frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Make a data frame; MissingDependencyError where pandas is not installed."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError("pandas", "pandas", "to_pandas()") from error
    return pd.DataFrame(dict(columns))
