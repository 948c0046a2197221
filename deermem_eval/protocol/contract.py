"""A parsed document, validated against a pydantic model or refused in one line."""

import json
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from deermem_eval.errors import DeermemEvalError

Text = Annotated[str, StringConstraints(min_length=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=10**15)]
Model = TypeVar("Model", bound=BaseModel)


def parse_contract(model: type[Model], document: Any, path: Path, what: str) -> Model:
    """Validate `document` (plain JSON values) as a `model`.

    Raises
    ------
    DeermemEvalError
        Names the file, the first offending key, what was expected and found, and how many more
        keys are wrong.
    """
    try:
        return model.model_validate_json(json.dumps(document))
    except ValidationError as error:
        raise DeermemEvalError(f"{what} {path}: {first_problem(error)}") from error
    except (TypeError, ValueError, RecursionError) as error:  # an integer of thousands of digits
        raise DeermemEvalError(f"{what} {path}: {error}; correct the value") from error


def first_problem(error: ValidationError) -> str:
    """Say in a sentence what the first validation error is, and count the others."""
    problems = error.errors(include_url=False)
    first = problems[0]
    key = ".".join(str(part) for part in first["loc"]) or "the document"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "json_invalid":  # our own JSON, so a text in it is at fault
        message = "a text holds half of a surrogate pair; correct it"
    elif first["type"] == "extra_forbidden":
        message = "is not a key of this format; remove it or correct its spelling"
    elif first["type"] == "missing":
        message = "is missing; add it"
    elif first["type"] == "value_error":
        message = f"{message}; correct it"
    else:
        found = json.dumps(first["input"], ensure_ascii=False, default=str)
        message = f"{message[:1].lower()}{message[1:]}, found {_shortened(found)}; correct it"
    others = len(problems) - 1
    more = f" ({others} more like it)" if others else ""
    return f"{key}: {message}{more}"


def _shortened(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
