"""Refusals of too large a request, in the words and types of the providers."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest
from langchain_core.exceptions import ContextOverflowError
from langgraph.errors import GraphInterrupt

from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.overflow import Overflow, is_overflow, overflow_of, room_below
from langledger.compaction.provider import Learnt, send_fitting
from langledger.compaction.session import View
from langledger.entries import Location
from langledger.errors import NothingToShrinkError
from langledger.operations import Operation


class StatusError(Exception):
    """An error as HTTP clients raise it."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status_code = status


class ClientError(Exception):
    """An error as botocore raises it."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(f"An error occurred (ValidationException): {text}")
        self.response = {
            "Error": {"Code": "ValidationException", "Message": text},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }


def of_openai(message: str, code: str | None, status: int = 400) -> openai.APIStatusError:
    response = httpx.Response(status, request=httpx.Request("POST", "https://api.example.org"))
    body = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    kind = openai.RateLimitError if status == 429 else openai.BadRequestError
    return kind(f"Error code: {status} - {{'error': {body}}}", response=response, body=body)


REFUSALS = {
    "openai chat": (
        of_openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9000 tokens. Please reduce the length of the messages.",
            "context_length_exceeded",
        ),
        Overflow(8192, 9000, 8192),
    ),
    "openai responses": (
        of_openai("Your input exceeds the context window of this model.", None),
        Overflow(),
    ),
    "openai code alone": (of_openai("Bad request.", "context_length_exceeded"), Overflow()),
    "anthropic": (
        StatusError("prompt is too long: 210000 tokens > 200000 maximum", 400),
        Overflow(200_000, 210_000, 200_000),
    ),
    "anthropic with output": (
        StatusError(
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000", 400
        ),
        Overflow(178_667, 188_240, 200_000),
    ),
    "anthropic bytes": (
        StatusError("request_too_large: Request exceeds the maximum size", 413),
        Overflow(),
    ),
    "google": (
        StatusError(
            "400 INVALID_ARGUMENT. The input token count (1200000) exceeds the maximum number of "
            "tokens allowed (1048576).",
            400,
        ),
        Overflow(1_048_576, 1_200_000, 1_048_576),
    ),
    "bedrock": (ClientError("Input is too long for requested model.", 400), Overflow()),
    "bedrock model": (
        ClientError("The model returned: prompt is too long: 9 tokens > 8 maximum", 400),
        Overflow(8, 9, 8),
    ),
    "bedrock count": (ClientError("too many total input tokens", 400), Overflow()),
    "bedrock counts": (
        ClientError(
            "Too many input tokens. Max input tokens: 8192, request input token count: 12000", 400
        ),
        Overflow(8192, 12_000, 8192),
    ),
    "vllm": (
        StatusError(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (4500 in the messages, 500 in the completion).",
            400,
        ),
        Overflow(3596, 4500, 4096),
    ),
    "vllm output": (
        StatusError(
            "'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum "
            "context length is 4096 tokens and your request has 3000 input tokens "
            "(2048 > 4096 - 3000).",
            400,
        ),
        Overflow(2048, 3000, 4096),
    ),
    "vllm engine": (
        ValueError(
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096."
        ),
        Overflow(4096, 5000, 4096),
    ),
    "llama.cpp": (
        StatusError(
            "the request exceeds the available context size, try increasing it "
            '{"type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}',
            400,
        ),
        Overflow(4096, 5000, 4096),
    ),
    "llama.cpp through openai": (
        StatusError(
            "Error code: 400 - {'error': {'code': 400, 'message': 'the request exceeds the "
            "available context size, try increasing it', 'type': 'exceed_context_size_error', "
            "'n_prompt_tokens': 5000, 'n_ctx': 4096}}",
            400,
        ),
        Overflow(4096, 5000, 4096),
    ),
    "llama.cpp new": (
        StatusError("request (5000 tokens) exceeds the available context size (4096 tokens)", 400),
        Overflow(4096, 5000, 4096),
    ),
    "mistral": (
        StatusError(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length",
            400,
        ),
        Overflow(32_768, 40_000, 32_768),
    ),
    "xai": (
        StatusError(
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            400,
        ),
        Overflow(131_072, 537_812, 131_072),
    ),
    "tgi": (
        StatusError(
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and "
            "512 `max_new_tokens`",
            422,
        ),
        Overflow(3584, 5000, 4096),
    ),
    "tgi, input": (
        StatusError(
            "Input validation error: `inputs` must have less than 8192 tokens. Given: 9000", 422
        ),
        Overflow(8192, 9000, 8192),
    ),
    "sglang": (
        ValueError(
            "The input (5000 tokens) is longer than the model's context length (4096 tokens)."
        ),
        Overflow(4096, 5000, 4096),
    ),
    "qwen": (
        StatusError("Range of input length should be [1, 30720]", 400),
        Overflow(30_720, None, 30_720),
    ),
    "moonshot": (
        StatusError("Your request exceeded model token limit: 8192 (requested: 9500)", 400),
        Overflow(8192, 9500, 8192),
    ),
    "qwen, chinese": (StatusError("输入的长度超过了模型的最大上下文长度", 400), Overflow()),
    "zhipu": (
        StatusError(
            "Error code: 400 - {'error': {'code': '1261', 'message': 'Prompt 超长'}}", 400
        ),
        Overflow(),
    ),
    "zhipu code alone": (of_openai("Bad request.", "1261"), Overflow()),
    "cohere": (
        StatusError(
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
            "5000",
            400,
        ),
        Overflow(4081, 5000, 4081),
    ),
    "github": (
        StatusError("prompt token count of 150000 exceeds the limit of 128000", 400),
        Overflow(128_000, 150_000, 128_000),
    ),
    "watsonx": (
        StatusError(
            "Invalid input argument for Model 'x': the number of input tokens 9000 cannot exceed "
            "the total tokens limit 8192 for this model",
            400,
        ),
        Overflow(8192, 9000, 8192),
    ),
    "lm studio": (
        StatusError(
            "Trying to keep the first 9000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens, which is not enough.",
            400,
        ),
        Overflow(4096, 9000, 4096),
    ),
    "cerebras": (
        StatusError(
            "Please reduce the length of the messages or completion. Current length is 9034 while "
            "limit is 8192",
            400,
        ),
        Overflow(8192, 9034, 8192),
    ),
    "azure": (
        of_openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
            "300000 tokens.",
            "context_length_exceeded",
        ),
        Overflow(272_000, 300_000, 272_000),
    ),
    "fireworks": (
        StatusError("The prompt is too long: 140000, model maximum context length: 131071", 400),
        Overflow(131_071, 140_000, 131_071),
    ),
    "vertex": (
        StatusError(
            "Unable to submit request because the input token count is 1234567 but model only "
            "supports up to 1048576. Reduce the input token count and try again.",
            400,
        ),
        Overflow(1_048_576, 1_234_567, 1_048_576),
    ),
    "vllm, input and output": (
        StatusError(
            "You passed 32769 input tokens and requested 4096 output tokens. However, the model's "
            "context length is only 32768 tokens, resulting in a maximum input length of 28672 "
            "tokens. Please reduce the length of the input prompt.",
            400,
        ),
        Overflow(28_672, 32_769, 32_768),
    ),
    "sglang, total": (
        StatusError(
            "Requested token count exceeds the model's maximum context length of 32768 tokens. You "
            "requested a total of 40000 tokens: 36000 tokens from the input messages and 4000 "
            "tokens for the completion.",
            400,
        ),
        Overflow(28_768, 36_000, 32_768),
    ),
    "openrouter": (
        StatusError(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about "
            "150000 tokens (140000 of text input, 10000 in the output). Please reduce the length "
            "of either one.",
            400,
        ),
        Overflow(121_072, 140_000, 131_072),
    ),
    "bedrock nova": (
        ClientError(
            "The model returned the following errors: Input Tokens Exceeded: Number of input "
            "tokens exceeds maximum length. Please update the input to try again.",
            400,
        ),
        Overflow(),
    ),
    "lm studio, kept": (
        ValueError(
            "The number of tokens to keep from the initial prompt is greater than the context "
            "length (n_keep: 9000>= n_ctx: 8192)"
        ),
        Overflow(8192, 9000, 8192),
    ),
    "lm studio, exceeded": (
        of_openai("Context size has been exceeded.", None, 500), Overflow(),
    ),
    "llama.cpp, exceeded": (StatusError("context size exceeded", 500), Overflow()),
    "wasi-nn": (ValueError("prompt too long (570 tokens, max 508)"), Overflow(508, 570, 508)),
    "nvidia": (
        StatusError("Input length 9001 exceeds maximum allowed token size 8000", 400),
        Overflow(8000, 9001, 8000),
    ),
    "sglang, allowed": (
        StatusError(
            "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).", 400
        ),
        Overflow(59_862, 160_062, 59_862),
    ),
    "sambanova": (
        StatusError(
            "Requested generation length 1000 is not possible! The provided prompt is 9001 tokens "
            "long, so generating 1000 tokens requires a sequence length of 10001, but the maximum "
            "supported sequence length is just 8192!",
            400,
        ),
        Overflow(8192, 10_001, 8192),
    ),
    "vllm, output asked for": (
        StatusError(
            "This model's maximum context length is 262144 tokens. However, you requested 128000 "
            "output tokens and your prompt contains at least 134145 input tokens, for a total of "
            "at least 262145 tokens. Please reduce the length of the input prompt or the number "
            "of requested output tokens. (parameter=input_tokens, value=134145)",
            400,
        ),
        Overflow(134_144, 134_145, 262_144),
    ),
    "langchain, typed": (ContextOverflowError("whatever it says"), Overflow()),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_known_with_what_it_tells(name: str) -> None:
    error, told = REFUSALS[name]
    assert overflow_of(error) == told


@pytest.mark.parametrize("name", REFUSALS)
def test_so_is_one_that_another_error_wraps(name: str) -> None:
    error, told = REFUSALS[name]
    wrapped = RuntimeError("the chain failed")
    wrapped.__cause__ = error
    assert overflow_of(wrapped) == told
    assert overflow_of(ExceptionGroup("tasks", [KeyError("x"), error])) == told


@pytest.mark.parametrize(
    "error",
    [
        of_openai(
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. "
            "The input or output tokens must be reduced in order to run successfully.",
            "rate_limit_exceeded",
            429,
        ),
        StatusError("429: prompt is too long for your rate limit", 429),
        StatusError("invalid x-api-key; maximum context length unknown", 401),
        StatusError("model not found; maximum context length unknown", 404),
        ValueError("rate limit reached"),
        ValueError("unknown parameter 'context_length' of the tool"),
        ValueError("the image is too large: 9000 pixels"),
        ValueError("file name too long"),
        StatusError("File path input is too long", 400),
        StatusError("The file name input is too long (max 255)", 400),
        StatusError("Tool description is too long; maximum 1024", 400),
        StatusError("messages.5.content.0: image exceeds 5 MB maximum: 6000000 > 5242880", 400),
        StatusError("Prompt tokens limit exceeded: 40000 > 32000; add credits", 402),
        StatusError("this model only supports up to 128 tools", 400),
        ValueError("文件名超过了最大长度"),
        StatusError("max_tokens: 99999 > 8192, the maximum number of output tokens", 400),
        StatusError("messages: must have less than 100 items. Given: 120", 400),
        KeyError("context"),
        NothingToShrinkError("the call exceeds the context window"),
        TimeoutError(),
    ],
    ids=str,
)
def test_other_errors_are_not_one(error: Exception) -> None:
    assert not is_overflow(error)


def test_an_error_that_causes_itself_ends() -> None:
    error = ValueError("no")
    error.__cause__ = error
    assert not is_overflow(error)


def test_the_next_try_stays_below_what_the_provider_told() -> None:
    assert room_below(Overflow(), 900) == 450
    assert room_below(Overflow(4_000, 8_000), 6_000) == 3_000
    assert room_below(Overflow(4_000), 6_000) == 4_000
    assert room_below(Overflow(9_000, 8_000), 6_000) == 6_000


BARE = StatusError("Input is too long for requested model.", 400)
TELLING = {name for name, (_, told) in REFUSALS.items() if (told.window or 0) > 1_000}
CALL = ModelCall(location=Location("x", "t", ""), messages=[], window=10**9, model_name="gpt-4o")


def prepared(size: int) -> Prepared:
    return Prepared(View(None, [], size), size, size)


def lived(
    errors: list[Exception], sizes: list[int], learnt: Learnt | None = None
) -> tuple[list[int], list[int]]:
    """Send views to a provider that raises these; return the sizes sent and those asked for."""
    sent: list[int] = []
    asked: list[int] = []
    raised: Iterator[Exception] = iter(errors)

    def send(view: Prepared) -> Operation[str]:
        yield from ()
        sent.append(view.counted)
        for error in raised:
            raise error
        return "taken"

    def smaller(below: int) -> Operation[Prepared]:
        yield from ()
        asked.append(below)
        return prepared(sizes.pop(0))

    trying = send_fitting(learnt or Learnt(), CALL, prepared(8_000), send=send, smaller=smaller)
    with pytest.raises(StopIteration) as done:
        next(trying)
    assert done.value.value == ("taken", prepared(sent[-1]))
    return sent, asked


@pytest.mark.parametrize("name", REFUSALS)
def test_one_smaller_view_is_sent_whatever_a_refusal_tells(name: str) -> None:
    error, told = REFUSALS[name]
    assert lived([error], [3_000]) == ([8_000, 3_000], [room_below(told, 8_000)])


@pytest.mark.parametrize("name", sorted(TELLING))
def test_a_second_refusal_that_tells_what_the_first_did_not_is_heeded(name: str) -> None:
    error, told = REFUSALS[name]
    learnt = Learnt()
    sent, asked = lived([BARE, error], [4_000, 900], learnt)
    assert sent == [8_000, 4_000, 900]
    assert asked == [4_000, room_below(told, 4_000)]
    known = learnt.as_known(CALL)
    assert (known.window, known.window_told) == (told.window, True)


@pytest.mark.parametrize(
    "errors",
    [
        [BARE, BARE],
        [REFUSALS["anthropic"][0], REFUSALS["anthropic"][0]],
        [REFUSALS["anthropic"][0], BARE],
        [BARE, REFUSALS["anthropic"][0], REFUSALS["anthropic"][0]],
        [BARE, KeyError("another")],
        [GraphInterrupt("the prompt is too long: 9 tokens > 5 maximum")],
    ],
)
def test_else_the_last_error_is_the_callers(errors: list[Exception]) -> None:
    with pytest.raises(type(errors[-1])) as raised:
        lived(errors, [4_000, 900, 300])
    assert raised.value is errors[-1]


def test_a_view_that_is_no_smaller_is_not_sent() -> None:
    with pytest.raises(StatusError) as raised:
        lived([BARE], [8_000])
    assert "nothing more to leave out" in raised.value.__notes__[-1]
