"""``LedgerChatMemory`` in a chain: the prompt holds what bears on the question.

    python examples/chat_memory.py

Offline the model is scripted; with OPENAI_API_KEY or OPENAI_BASE_URL it is a real one. The
database is the one LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from _offline import chat_model
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

from langledger import Ledger, LedgerChatMemory

QUESTIONS = 30


def main() -> None:
    """Hold a conversation that is larger than the memory's limit."""
    session_id = f"alice-{uuid4().hex[:6]}"
    answers = (f"Answer {n}. " + "There is more to say. " * 20 for n in range(QUESTIONS + 2))
    with Ledger.from_settings() as ledger:
        memory = LedgerChatMemory(
            ledger=ledger, session_id=session_id, max_token_limit=1000, return_messages=True
        )
        prompt = ChatPromptTemplate.from_messages(
            [("system", "Answer briefly."), ("placeholder", "{history}"), ("human", "{input}")]
        )

        def context(inputs: dict[str, Any]) -> Any:
            return memory.load_memory_variables(inputs)["history"]

        chain = (
            RunnablePassthrough.assign(history=RunnableLambda(context))
            | prompt
            | chat_model(answers)
            | StrOutputParser()
        )
        said = ["My deploy key is called harbour-8431.", *(f"Question {n}?" for n in range(30))]
        for text in said:
            memory.save_context({"input": text}, {"output": chain.invoke({"input": text})})

        shown = memory.load_memory_variables({"input": "What is my deploy key called?"})["history"]
        print("messages kept:", ledger.count(session_id), "shown:", len(shown))
        print("found again:", any("harbour-8431" in message.text for message in shown))


if __name__ == "__main__":
    main()
