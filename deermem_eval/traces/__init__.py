"""Lives that nobody constructed: traces, models of signals, the simulator, and what it shows."""

from deermem_eval.traces.bound import most_needs_met
from deermem_eval.traces.comparison import (
    COMPARISON_COLUMNS,
    cluster_interval,
    compare_policies,
    comparison_in_words,
    holm,
    shares_by_life,
    shares_by_setting,
    sign_flip_p,
)
from deermem_eval.traces.decision_map import MAP_COLUMNS, constructed_assumption, decision_map
from deermem_eval.traces.files import read_traces, trace_events, write_traces
from deermem_eval.traces.findings import findings
from deermem_eval.traces.generator import MADE_NAME, Making, made_life, made_lives
from deermem_eval.traces.lives import Life, Noted, Question, Turn
from deermem_eval.traces.locomo import LOCOMO_NAME, fetch_locomo, locomo_path, read_locomo
from deermem_eval.traces.longmemeval_lives import read_longmemeval_lives
from deermem_eval.traces.setting import Setting
from deermem_eval.traces.signals import SignalModel, confidences, need_places, trace_of_life
from deermem_eval.traces.simulator import kept_sets, simulate
from deermem_eval.traces.sources import LoadedTraces, load_traces
from deermem_eval.traces.store_traces import read_store_traces
from deermem_eval.traces.study import (
    BOUND,
    CAPACITIES,
    CONFIDENCE_MODELS,
    OUTCOME_COLUMNS,
    POLICIES,
    Study,
    ages_of_needs,
    check_study,
    needs_met,
    run_study,
)
from deermem_eval.traces.trace import Need, Trace, build_trace
from deermem_eval.traces.tuning import TUNING_COLUMNS, leave_one_life_out

__all__ = [
    "BOUND",
    "CAPACITIES",
    "COMPARISON_COLUMNS",
    "CONFIDENCE_MODELS",
    "LOCOMO_NAME",
    "MADE_NAME",
    "MAP_COLUMNS",
    "OUTCOME_COLUMNS",
    "POLICIES",
    "TUNING_COLUMNS",
    "Life",
    "LoadedTraces",
    "Making",
    "Need",
    "Noted",
    "Question",
    "Setting",
    "SignalModel",
    "Study",
    "Trace",
    "Turn",
    "ages_of_needs",
    "build_trace",
    "check_study",
    "cluster_interval",
    "compare_policies",
    "comparison_in_words",
    "confidences",
    "constructed_assumption",
    "decision_map",
    "fetch_locomo",
    "findings",
    "holm",
    "kept_sets",
    "leave_one_life_out",
    "load_traces",
    "locomo_path",
    "made_life",
    "made_lives",
    "most_needs_met",
    "need_places",
    "needs_met",
    "read_locomo",
    "read_longmemeval_lives",
    "read_store_traces",
    "read_traces",
    "run_study",
    "shares_by_life",
    "shares_by_setting",
    "sign_flip_p",
    "simulate",
    "trace_events",
    "trace_of_life",
    "write_traces",
]
