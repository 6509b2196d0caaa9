"""The backup of the embedded engine's file, for a command."""

from onthedot.engines.sqlite.backup import Copied, copy_database

__all__ = ["Copied", "copy_database"]
