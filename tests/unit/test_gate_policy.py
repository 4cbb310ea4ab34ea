"""The policy: drafted in the settings, fixed by the signature."""

import pytest
from pydantic import ValidationError

from pytest_fineval.gate.policy import Policy, differences, draft
from tests.unit.gate_world import settings


def test_a_draft_spells_out_every_default_limit():
    policy = draft(settings())
    assert policy.max_drop == {
        "extraction": 0.03,
        "summarization": 0.05,
        "ranking": 0.05,
        "reasoning": 0.03,
        "classification": 0.03,
        "overall": 0.02,
    }
    assert (policy.alpha, policy.alpha_smoke, policy.test) == (0.05, 0.01, "signflip")


def test_a_limit_of_the_settings_replaces_the_default():
    policy = draft(settings(max_drop={"ranking": 0.1}, floor={"overall": 0.7}))
    assert policy.max_drop["ranking"] == 0.1
    assert policy.floor == {"overall": 0.7}


def test_a_category_of_ones_own_has_the_fallback_limit():
    assert draft(settings(["covenants"])).max_drop == {"covenants": 0.03, "overall": 0.02}


def test_the_same_policy_has_the_same_digest_whatever_the_order_of_its_tables():
    policy = draft(settings(floor={"ranking": 0.5, "reasoning": 0.6}))
    other = draft(settings(floor={"reasoning": 0.6, "ranking": 0.5}))
    assert policy.digest == other.digest
    assert policy.digest != draft(settings(floor={"ranking": 0.5})).digest


def test_equal_policies_have_no_differences():
    assert differences(draft(settings()), draft(settings())) == []


def test_what_only_a_baseline_fills_in_is_no_difference():
    drafted = draft(settings())
    signed = drafted.model_copy(update={"scorers": {"ranking": ("rank@1",)}, "samples": 5})
    assert differences(signed, drafted) == []


def test_every_difference_from_the_settings_is_said_in_words():
    signed = draft(settings(floor={"ranking": 0.5}))
    drafted = draft(settings(max_drop={"reasoning": 0.2}, alpha=0.1))
    assert differences(signed, drafted) == [
        "max_drop.reasoning: signed 0.03, settings 0.2",
        "floor.ranking: signed 0.5, settings none",
        "alpha: signed 0.05, settings 0.1",
    ]


def test_another_list_of_categories_is_a_difference():
    found = differences(draft(settings(["a", "b"])), draft(settings(["a"])))
    assert found == [
        "categories: signed a, b, settings a",
        "max_drop.b: signed 0.03, settings none",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"max_drop": {"overall": 0.02}}, "every category"),
        ({"floor": {"typo": 0.5}}, '"typo" is no category'),
        ({"floor": {"ranking": 50}}, "shares, not points"),
        ({"alpha": float("nan")}, "alpha"),
        ({"alpha": 0.9}, "alpha"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_policy_at_fault_is_refused(change, fault):
    with pytest.raises(ValidationError, match=fault):
        Policy.model_validate({**draft(settings()).model_dump(), **change})
