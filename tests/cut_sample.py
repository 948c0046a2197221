"""The sample protocol cut down to six questions, for a model that takes seconds for each."""

import json
import shutil
from pathlib import Path


def write_cut_sample(root: Path, folder: Path) -> Path:
    """Two scenarios of two cases, as the selection rule picks them, and two corrections."""
    shutil.copytree(root / "data" / "sample", folder)
    official = folder / "manifests" / "official.json"
    document = json.loads(official.read_text("utf-8"))
    document["selection"] |= {"take_per_question_type": 2, "cases_per_type_per_scenario": 1}
    document["scenario_order"] = ["confirmation_help", "access_help"]
    document["loss_ranks"] = [6, 10]
    document["scenarios"] = {
        "confirmation_help": ["05ec0bc9", "045af05e"],
        "access_help": ["076076ad", "063ccbca"],
    }
    official.write_text(json.dumps(document), "utf-8")
    synthetic = folder / "manifests" / "synthetic.json"
    document = json.loads(synthetic.read_text("utf-8"))
    document["cases"] = document["cases"][:2]
    synthetic.write_text(json.dumps(document), "utf-8")
    return folder
