import importlib

import pytest

PUBLIC = {
    "deermem_eval.errors": ["DeermemEvalError"],
    "deermem_eval.protocol": [
        "AnswerPrompt", "FetchedFile", "Identity", "OfficialManifest", "Protocol", "ProtocolConfig",
        "Source", "SyntheticManifest", "SMALL_MODEL_NAME", "SMOLLM2", "PackagedModel",
        "fetch_protocol", "fetch_small_model", "fetched_folder", "load_small_model", "with_fetched_texts",
        "load_protocol", "override_config", "read_sources", "shipped_protocols", "upstream_identity", "with_config", "with_run_config",
    ],
    "deermem_eval.cases": [
        "SUITE_OF_SOURCE", "SUPPORT_SIGNALS", "Case", "CaseTexts", "Record", "RecordTexts",
        "Signals", "bank_offset", "build_bank", "build_cases", "case_of", "dataset_file", "distractor_signals",
        "draw_distractors", "load_cases", "load_records", "read_longmemeval", "read_records", "record_source",
        "records_file", "refuse_other_selection", "select_official_cases",
    ],
    "deermem_eval.policies": [
        "EVICTION_POLICY_CONFIDENCE", "EVICTION_POLICY_HYBRID_V1", "OWN_SELECTOR", "Decision",
        "DuplicateFactIdWarning", "EvictedFact", "FactScore", "HybridParameters", "Policy", "Selector",
        "Ranking", "apply_policy", "load_policy", "policy_names", "rank_facts",
        "access_heat", "confidence_score", "confirmation_freshness", "hybrid_score",
        "is_correction", "load_selector", "require_policy_version", "select_facts_for_capacity",
        "stored_confidence",
    ],
    "deermem_eval.selection": [
        "PARAMETERS", "SUITES", "WEIGHT_COLUMNS", "CaseRegions", "Cell", "Margin", "Overlay", "PoolArrays",
        "RegionStudy", "Sweep", "case_arrays", "case_margins", "case_pools", "case_regions", "kept_in_batch",
        "margin", "margin_document", "overlay", "policy_curves", "pool_arrays", "ranks_of", "region_parts",
        "region_study", "retained_at", "retained_in_batch", "simplex_grid", "support_mask", "sweep",
        "CaseDecision", "PolicyRun", "PolicySetting", "check_capacities", "decide",
        "decision_table", "policy_settings", "protocol_selector", "retention_by_scenario",
        "retention_by_suite", "retention_rows", "with_overall", "write_policy_run",
    ],
    "deermem_eval.answers": [
        "BUDGET_CLASSES", "REPLY_CLASSES", "AnswerTask", "AttemptFailedError", "Prices",
        "ProviderContext", "Reply", "Request", "RunReport", "RunRequest", "RunSettings", "answer_run", "answered_by",
        "answer_tasks", "class_table", "load_provider", "provider_names", "qa_decisions", "read_answer",
        "render_messages", "reply_class", "request_bytes", "request_fingerprint", "request_payload", "row_id",
        "run_answers", "run_tasks",
    ],
    "deermem_eval.grades": [
        "FROZEN_GRADER", "GRADERS", "Check", "Difference", "Grade", "UngradableReferenceError",
        "GradedRun", "GradedStudy", "STAGES", "Verification", "changed_rows", "discordant_cases", "grade_answer", "grade_run",
        "graded_or_grade", "gradings_by_suite", "load_graded_study", "read_disputed", "read_regrades", "regrade",
        "stages_by_scenario", "stages_by_suite", "verify_run", "with_grading",
        "Interval", "PairedCounts", "accuracy_by_scenario", "accuracy_by_suite",
        "bootstrap_difference", "mcnemar_p", "paired_by_suite", "paired_counts", "read_outcomes",
        "read_published_rows", "read_runs", "resampled_indices", "rows_of_run", "smallest_attainable_p",
        "statistics_document", "summary_document", "wilson_interval",
    ],
    "deermem_eval.drift": [
        "CATALOGUE", "CATALOGUE_LAYERS", "HISTORICAL_NAME", "HISTORICAL_VARIANT", "LAYERS", "PUBLISHED",
        "UNSEEN", "VARIANTS", "DriftStudy", "Ladder", "Rung", "Side", "Variant",
        "against_the_floor", "agreement_table", "blind_layers", "compare_sides", "differences_in_words",
        "drift_catalogue", "exact_interval", "exceeds_by_chance", "first_differing_byte", "first_steps",
        "flow_table", "load_drift_study", "natural_repeats", "noise_floor", "noise_of", "outcome_side", "printable",
        "run_side", "totals_table", "variant_side", "varied",
    ],
    "deermem_eval.memory": [
        "POLICIES", "AuditedDecision", "AuditedFact", "AuditedStore", "MemoryStore", "StorePlace", "Unsound",
        "AUDIT_COLUMNS", "audit_table", "score_timeline", "StoreSettings", "add_facts", "confirm_facts", "fact_text", "record_search", "remove_facts",
        "accessed", "after_search", "confirmed", "confirmed_ids", "injected_facts", "is_reinforced",
        "load_patterns", "stale_facts", "UnsoundError", "SHADOW_COLUMNS", "ShadowMonth", "audit_place", "audit_policy", "audit_store", "shadow_by_month", "shadow_table", "default_capacities", "dirty_fields", "fact_paths",
        "find_stores", "prefix_of", "read_audit_events", "read_fact_file", "read_store", "read_usage",
    ],
    "deermem_eval.traces": [
        "BOUND", "CAPACITIES", "COMPARISON_COLUMNS", "CONFIDENCE_MODELS", "LOCOMO_NAME", "Life",
        "MADE_NAME", "MAP_COLUMNS", "Making", "Need", "Noted", "OUTCOME_COLUMNS", "POLICIES",
        "Question", "Setting", "SignalModel", "Study", "TUNING_COLUMNS", "Trace", "Turn",
        "ages_of_needs", "build_trace", "check_study", "cluster_interval", "compare_policies",
        "comparison_in_words", "confidences", "constructed_assumption", "decision_map",
        "fetch_locomo", "findings", "holm", "kept_sets", "leave_one_life_out", "LoadedTraces", "load_traces",
        "locomo_path", "made_life", "made_lives", "most_needs_met", "need_places", "needs_met",
        "read_locomo", "read_longmemeval_lives", "read_store_traces", "read_traces", "run_study",
        "shares_by_life", "shares_by_setting", "sign_flip_p", "simulate", "trace_events",
        "trace_of_life", "write_traces",
    ],
    "deermem_eval.report": [
        "decision_map_figure", "needs_by_age", "needs_by_capacity", "tuned_weights",
        "audit_overview", "change_flow", "fact_timeline", "half_life_sensitivity", "margins_by_case", "policy_capacity_curves", "protocol_drift",
        "shown_figure", "weight_triangle", "who_sees_what",
        "NotebookOutcome", "NotebookTask", "SavedFigure", "StudyFolders", "answer_stages", "answers_folder", "bank_table", "case_table",
        "default_run", "figure_title", "markdown_table", "optional_path", "p_overview", "plan_notebooks", "pool_anatomy",
        "pool_table", "qa_accuracy", "qa_overview", "results_folder", "retention_by_capacity",
        "retention_overview", "run_notebooks", "save_figure", "save_table", "scenario_table",
        "shipped_notebooks", "study_folders", "text_table", "write_page", "write_report",
    ],
}  # fmt: skip


@pytest.mark.parametrize("module", PUBLIC)
def test_the_public_names_are_these(module):
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None)
    if names is not None:
        assert sorted(names) == sorted(PUBLIC[module])
    for name in PUBLIC[module]:
        documented = getattr(found, name)
        if callable(documented):
            assert documented.__doc__, name
            assert documented.__module__.startswith("deermem_eval."), name


def test_the_signature_is_the_production_one():
    import inspect

    from deermem_eval.policies import Decision, EvictedFact, FactScore, select_facts_for_capacity

    assert list(inspect.signature(select_facts_for_capacity).parameters) == [
        "facts", "max_facts", "policy", "usage", "now", "confidence_weight",
        "confirmation_weight", "access_weight", "confirmation_half_life_days",
        "access_half_life_days", "correction_reserved_fraction", "correction_reserved_max",
    ]  # fmt: skip
    assert list(Decision.__dataclass_fields__) == [
        "kept", "evicted", "scores", "policy", "reserved_correction_slots",
    ]  # fmt: skip
    assert list(EvictedFact.__dataclass_fields__) == ["fact_id", "category", "score", "components"]
    assert list(FactScore.__dataclass_fields__) == ["value", "components"]
