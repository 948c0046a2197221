"""The answer prompt: a system section and a user section with three placeholders."""

from dataclasses import dataclass
from pathlib import Path

from deermem_eval.errors import DeermemEvalError
from deermem_eval.reading import decode_text

PLACEHOLDERS = ("{{CURRENT_DATE_SECTION}}", "{{STORED_MEMORY}}", "{{QUESTION}}")


@dataclass(frozen=True)
class AnswerPrompt:
    """The two messages of a request, before the placeholders of the second are filled."""

    system: str
    user: str


def parse_prompt(content: bytes, path: Path) -> AnswerPrompt:
    """Split an answer prompt into its two sections.

    Raises
    ------
    DeermemEvalError
        A section is missing or empty, or a placeholder does not stand exactly once, in the user
        section.
    """
    text = decode_text(content, path, "answer prompt").replace("\r\n", "\n").strip("\n")
    head, marker, user = text.partition("\n\nUSER:\n")
    if not head.startswith("SYSTEM:\n") or not marker:
        raise DeermemEvalError(
            f"answer prompt {path} needs a line SYSTEM:, its text, a blank line, a line USER: and "
            "its text"
        )
    prompt = AnswerPrompt(head.removeprefix("SYSTEM:\n").strip(), user)
    if not prompt.system:
        raise DeermemEvalError(f"answer prompt {path} has an empty SYSTEM section; write it")
    for placeholder in PLACEHOLDERS:
        if (prompt.user.count(placeholder), prompt.system.count(placeholder)) != (1, 0):
            raise DeermemEvalError(
                f"answer prompt {path} must hold {placeholder} once, in its USER section"
            )
    return prompt
