"""The detectors of Yelp's detect-secrets, as rules.

Only what they search for is used: no command line, no verification, so no network. Those that
go by entropy or by a name alone stay out: they take hashes, identifiers and code for secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from langledger.redaction.rules import Rule

if TYPE_CHECKING:
    from detect_secrets.plugins.base import RegexBasedDetector

__all__ = ["detector_rules"]

_GITLAB = (
    *("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "gr1348941", "glcbt-", "glimt-"),
    *("glptt-", "glagent-", "gloas-"),
)
# Module and class of each detector, what it finds, and what a text must hold for it to be asked.
_DETECTORS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("aws", "AWSKeyDetector", "access-key", ("akia", "asia", "abia", "acca", "a3t", "aws")),
    ("azure_storage_key", "AzureStorageKeyDetector", "account-key", ("accountkey=",)),
    ("basic_auth", "BasicAuthDetector", "password", ("://",)),
    ("cloudant", "CloudantDetector", "password", ("cloudant",)),
    ("discord", "DiscordBotTokenDetector", "access-token", ("discord",)),
    (
        "github_token",
        "GitHubTokenDetector",
        "access-token",
        ("gh",),
    ),
    (
        "gitlab_token",
        "GitLabTokenDetector",
        "access-token",
        (
            "glpat-",
            "gldt-",
            "glft-",
            "glsoat-",
            "glrt-",
            "gr1348941",
            "glcbt-",
            "glimt-",
            "glptt-",
            "glagent-",
            "gloas-",
        ),
    ),
    ("ibm_cloud_iam", "IbmCloudIamDetector", "api-key", ("ibm", "iam")),
    ("ibm_cos_hmac", "IbmCosHmacDetector", "secret-key", ("secret",)),
    ("mailchimp", "MailchimpDetector", "api-key", ("-us",)),
    ("npm", "NpmDetector", "access-token", ("_authtoken",)),
    ("openai", "OpenAIDetector", "api-key", ("t3blbkfj",)),
    ("pypi_token", "PypiTokenDetector", "access-token", ("pypi-ag",)),
    ("sendgrid", "SendGridDetector", "api-key", ("sg.",)),
    ("slack", "SlackDetector", "access-token", ("xox", "hooks.slack.com")),
    ("softlayer", "SoftlayerDetector", "api-key", ("softlayer",)),
    ("square_oauth", "SquareOAuthDetector", "access-token", ("sq0csp",)),
    ("stripe", "StripeDetector", "secret-key", ("k_live_",)),
    ("telegram_token", "TelegramBotTokenDetector", "access-token", ("telegram", "bot")),
    ("twilio", "TwilioKeyDetector", "api-key", ("ac", "sk")),
)
# Their groups are the prefix alone.
_WHOLE = frozenset({"github_token", "gitlab_token"})


def detector_rules() -> Iterator[Rule]:
    """Yield the rules; loading detect-secrets takes about a tenth of a second."""
    for module, name, kind, hints in _DETECTORS:
        found = import_module(f"detect_secrets.plugins.{module}")
        detector = cast("type[RegexBasedDetector]", getattr(found, name))
        for pattern in cast("tuple[re.Pattern[str], ...]", detector.denylist):
            # Of ASCII's letters only: to its own \w a Chinese character is part of the word.
            flags = pattern.flags & ~re.UNICODE | re.ASCII
            yield Rule(
                kind=kind,
                pattern=re.compile(pattern.pattern, flags),
                hints=hints,
                accept=_stands_alone,
                whole=module in _WHOLE,
            )


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a match is not a part of a longer word, such as of an image's base64."""
    text, start, end = match.string, match.start(), match.end()
    inside = _in_word(text[start - 1 : start]) and _in_word(text[start : start + 1])
    goes_on = _in_word(text[end : end + 1]) and _in_word(text[end - 1 : end])
    return not inside and not goes_on


def _in_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in {"_", "+"})
