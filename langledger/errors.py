"""Every exception langledger raises on purpose.

::

    LangLedgerError
    ├── ConfigurationError (ValueError)
    │   └── WindowUnknownError
    ├── MissingDependencyError (ImportError)
    ├── DatabaseError
    │   ├── DatabaseUnavailableError
    │   ├── NotSetUpError
    │   └── MigrationError
    │       └── SchemaTooNewError
    ├── EmbeddedPostgresError
    ├── SerializationError
    │   └── EncryptionError
    ├── CompactionError
    │   └── NothingToShrinkError
    ├── StateError
    ├── EmbeddingError
    ├── ModelError
    ├── RepositoryError
    └── SessionFileError

A class's docstring is its default message. Messages say what to do next, and the
error that caused one is chained to it.
"""

from __future__ import annotations

__all__ = [
    "CompactionError",
    "ConfigurationError",
    "DatabaseError",
    "DatabaseUnavailableError",
    "EmbeddedPostgresError",
    "EmbeddingError",
    "EncryptionError",
    "LangLedgerError",
    "MigrationError",
    "MissingDependencyError",
    "ModelError",
    "NotSetUpError",
    "NothingToShrinkError",
    "RepositoryError",
    "SchemaTooNewError",
    "SerializationError",
    "SessionFileError",
    "StateError",
    "WindowUnknownError",
]


class LangLedgerError(Exception):
    """Something went wrong in langledger."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class ConfigurationError(LangLedgerError, ValueError):
    """A setting is missing, unknown or out of range."""


class WindowUnknownError(ConfigurationError):
    """The model does not tell its context window; pass window=<tokens>."""


class MissingDependencyError(LangLedgerError, ImportError):
    """An optional dependency is not installed."""


class DatabaseError(LangLedgerError):
    """PostgreSQL refused a statement; see the chained psycopg error."""


class DatabaseUnavailableError(DatabaseError):
    """PostgreSQL cannot be reached; check the DSN and that the server is up."""


class NotSetUpError(DatabaseError):
    """The schema does not exist yet; run `langledger db upgrade` or call setup()."""


class MigrationError(DatabaseError):
    """A migration could not be applied; the schema is as it was before."""


class SchemaTooNewError(MigrationError):
    """The database was migrated by a newer langledger; upgrade the package."""


class EmbeddedPostgresError(LangLedgerError):
    """The embedded PostgreSQL server could not be started."""


class SerializationError(LangLedgerError):
    """A value cannot be stored, or stored bytes cannot be read back."""


class EncryptionError(SerializationError):
    """Encrypted content cannot be read: its key is not given, or it was changed."""


class CompactionError(LangLedgerError):
    """The view could not be compacted; the history is untouched."""


class NothingToShrinkError(CompactionError):
    """What must stay verbatim already fills the window."""


class StateError(LangLedgerError):
    """A change to the working state is invalid; the state is untouched."""


class EmbeddingError(LangLedgerError):
    """The embedding model failed, or its vectors do not fit the stored ones; words still work."""


class ModelError(LangLedgerError):
    """A benchmark's model gave no answer; see to its name, key, address and limits."""


class RepositoryError(LangLedgerError):
    """The repository cannot be read, or was not indexed yet; run `langledger repo index`."""


class SessionFileError(LangLedgerError):
    """The file is not a recorded agent session."""
