"""Labels: which of a closed set of words an answer commits to."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pytest_fineval.cases.model import Gold
from pytest_fineval.scoring import noise
from pytest_fineval.scoring.base import AnswerScorer, CommonOptions, gold_fault
from pytest_fineval.scoring.extract import Located, json_scalar, locate
from pytest_fineval.scoring.score import Score
from pytest_fineval.scoring.view import clean

_JOINT = r"[\s_\-–]*"
_LITERAL_JOINT = r"[\s_]*"

_NEGATED = re.compile(
    r"(?:\b(?:not(?!\s+only)|never|neither|nor|no(?!\.)|without|hardly|scarcely|rather than|instead of|unlike|as opposed to|whether"
    r"|rul(?:e|es|ed|ing) out|eliminat\w+|exclud\w+|reject\w*|dismiss\w*)|n't)\s+(?:(?!but\b)[\w']+\s+){0,3}[\"'(]{0,2}$",
    re.IGNORECASE,
)
_LIST_GAP = re.compile(r"[\s,;/]*(?:\b(?:or|nor|and)\b)?\s*(?:an?\s+)?[\"']?", re.IGNORECASE)
_OFFER_GAP = re.compile(
    r"[\"')]?\s*(?:,?\s*\bor\b|/|\band/or\b)\s*(?:\w+\s+){0,2}[\"'(]?", re.IGNORECASE
)
_CALLED_WRONG = (
    r"\b(?:is|are|was|were|can be|would be|seems?|looks?)\s+(?:\w+\s+)?(?:wrong|incorrect|false|ruled out|eliminated|excluded|rejected"
    r"|implausible|not (?:\w+\s+)?(?:correct|right|applicable|supported|appropriate))"
)
_CUE = re.compile(
    r"\b(?:overall|classif\w+|categori[sz]\w+|conclu\w+|therefore|thus|hence|on balance|in sum(?:mary)?|verdict|label(?:led|ed)?"
    r"|(?:I|we)(?:'d| would| will|'ll)? (?:rate|grade|choose|pick|select|assign|judge|deem|call|go with)|best described|so the)\b",
    re.IGNORECASE,
)
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=\S)|\n+")
_OPTION_BEFORE = re.compile(r"(?:(?:option|choice|answer|grade|letter|class|rating|category|is|as|:|=)\s*[\"'(]?|[(\[\"'])$", re.IGNORECASE)  # fmt: skip
_OPTION_AFTER = re.compile(
    r"\s{0,4}(?:[.):,;!\]\"'\n–—|/<>=→]|-\s|$|\d{1,3}[.)]|(?:and|or|is|are|was|because|since)\b)"
)
_COMMITTED_AFTER = re.compile(
    r"[\"')\]]*\s*(?:$|[.,:;!\n(–—|]|-\s|(?:because|since|as|given|due|despite|although|though|while|overall|with|for)\b)"
)


def folded(text: str, literal: bool = False) -> str:
    """Case, width, spaces, hyphens and underscores made one; `literal` keeps + and -.

    >>> folded("Non-Compliant") == folded("non_compliant")
    True
    """
    kept = r"[\s_]+" if literal else r"[\s_\-–]+"
    return re.sub(kept, " ", unicodedata.normalize("NFKC", text).casefold()).strip()


@dataclass(frozen=True, slots=True)
class Mention:
    """A label in a text; `rejected`: negated, in neither/nor, or called wrong."""

    label: str
    start: int
    end: int
    rejected: bool = False


class LabelSet:
    """The labels of a case with their aliases, ready to be found in text.

    Args:
        labels: the closed set.
        aliases: further names by label.
        literal: + and - are part of a name (ratings).
    """

    def __init__(
        self, labels: Iterable[str], aliases: Mapping[str, Sequence[str]], literal: bool = False
    ):
        self.literal = literal
        self.by_name: dict[str, str] = {}
        for label in labels:
            for name in (label, *aliases.get(label, ())):
                self.by_name.setdefault(folded(name, literal), label)
        joint = _LITERAL_JOINT if literal else _JOINT
        # The longest name first, so that "not contradictory" is not read as "contradictory".
        ordered = sorted(self.by_name, key=len, reverse=True)
        body = "|".join(joint.join(re.escape(word) for word in name.split()) for name in ordered)
        after = r"(?!\w|[+\-](?!\w))" if literal else r"(?!\w)"
        self._pattern = re.compile(rf"(?<!\w)(?:{body}){after}", re.IGNORECASE)
        self._wrong_after = re.compile(
            rf"(?:[\s,]|\b(?:and|or|both|all|options?|choices?)\b|(?<!\w)(?:{body}){after}){{0,16}}?{_CALLED_WRONG}",
            re.IGNORECASE,
        )

    def named(self, text: str) -> str | None:
        """The label that the whole text is, punctuation around it aside."""
        whole = folded(text, self.literal)
        inner = whole.strip(" .,;:!?*#\"'`()[]")
        return self.by_name.get(whole) or self.by_name.get(inner) or self.by_name.get(folded(inner))

    def mentions(self, text: str) -> list[Mention]:
        """All labels in a text in order, rejected ones marked."""
        found: list[Mention] = []
        for match in self._pattern.finditer(text):
            name = match.group()
            label = self.by_name.get(folded(name, self.literal)) or self._joined(name)
            if label is None or (len(name) == 1 and not _is_option(text, match)):
                continue
            found.append(
                Mention(label, match.start(), match.end(), self._rejected(text, match, found))
            )
        return found

    def _joined(self, name: str) -> str | None:
        tight = re.sub(_LITERAL_JOINT if self.literal else _JOINT, "", folded(name, self.literal))
        for known, label in self.by_name.items():
            if re.sub(_LITERAL_JOINT if self.literal else _JOINT, "", known) == tight:
                return label
        return None

    def _rejected(self, text: str, match: re.Match[str], before: list[Mention]) -> bool:
        lead = re.split(r"[.;:\n]\s", text[max(0, match.start() - 60) : match.start()])[-1]
        if _NEGATED.search(lead):
            return True
        if (
            before
            and before[-1].rejected
            and _LIST_GAP.fullmatch(text, before[-1].end, match.start())
        ):
            return True
        return self._wrong_after.match(text, match.end()) is not None


def _is_option(text: str, match: re.Match[str]) -> bool:
    """Whether a single letter stands as an option and not as an article or a pronoun."""
    if match.group().isalpha() and not match.group().isupper():
        return False
    if _OPTION_AFTER.match(text, match.end()):
        return True
    follows = text[match.end() : match.end() + 2]
    article = match.group() in "AI" and len(follows) == 2 and follows[1].islower()
    lead = text[max(0, match.start() - 12) : match.start()]
    return not article and _OPTION_BEFORE.search(lead) is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """The label that a text commits to and where, or why there is none."""

    stage: str
    label: str | None = None
    span: tuple[int, int] = (0, 0)
    failure: str | None = None
    ambiguous: bool = False


def choose(text: str, labels: LabelSet, bold: Sequence[tuple[int, int]] = ()) -> Choice:
    """The label a text commits to: whole text, leading label, bold or concluding sentence, only one.

    Args:
        text: cleaned text, or its marked part.
        labels: the closed set.
        bold: spans of `text` set in bold.

    Returns:
        A Choice; with `failure` `ambiguous`, `no_label` or `invalid_label` when there is none.
    """
    whole = labels.named(text)
    if whole is not None:
        return Choice("whole", whole, (0, len(text)))
    mentions = labels.mentions(text)
    left = [mention for mention in mentions if not mention.rejected]
    for first, second in pairwise(left):
        if first.label != second.label and _OFFER_GAP.fullmatch(text, first.end, second.start):
            return Choice("offered", failure="ambiguous", ambiguous=True)
    for stage in (_leading, _in_bold, _concluding):
        found = stage(text, left, bold)
        if found is not None:
            return Choice(stage.__name__.strip("_"), found.label, (found.start, found.end))
    distinct = list(dict.fromkeys(mention.label for mention in left))
    if len(distinct) == 1:
        return Choice("only", left[0].label, (left[0].start, left[0].end))
    if distinct:
        return Choice("only", failure="ambiguous", ambiguous=True)
    words = len(text.split())
    return Choice("none", failure="invalid_label" if words == 1 and not mentions else "no_label")


def _leading(text: str, left: list[Mention], _: Sequence[tuple[int, int]]) -> Mention | None:
    """A label that opens the text and stands for itself, unless its sentence goes on to `overall`."""
    if not left or re.search(r"\w", text[: left[0].start]):
        return None
    first = left[0]
    if not _COMMITTED_AFTER.match(text, first.end):
        return None
    stop = SENTENCE.search(text, first.end)
    later = [
        m
        for m in left
        if m.label != first.label and m.start < (stop.start() if stop else len(text))
    ]
    if later and re.search(r"\b(?:but|however|yet)\b[^.\n]{0,40}\boverall\b|\boverall\b", text[first.end : later[-1].start], re.IGNORECASE):  # fmt: skip
        return None
    return first


def _in_bold(text: str, left: list[Mention], bold: Sequence[tuple[int, int]]) -> Mention | None:
    """The last label that is a bold text of its own."""
    for start, end in reversed(bold):
        inside = [m for m in left if start <= m.start and m.end <= end]
        rest = len(re.findall(r"\w+", text[start:end]))
        if len({m.label for m in inside}) == 1 and rest <= 1 + len(text[inside[0].start : inside[0].end].split()):  # fmt: skip
            return inside[0]
    return None


def _concluding(text: str, left: list[Mention], _: Sequence[tuple[int, int]]) -> Mention | None:
    """The label of the last sentence that concludes: the first after its cue, else the last."""
    ends = [0, *(match.end() for match in SENTENCE.finditer(text)), len(text)]
    for start, end in reversed(list(pairwise(ends))):
        cue = _CUE.search(text, start, end)
        if cue is None:
            continue
        here = [mention for mention in left if start <= mention.start < end]
        after = [mention for mention in here if mention.start >= cue.start()]
        if here:
            return after[0] if after else here[-1]
    return None


class LabelOptions(CommonOptions):
    """Options of `label`."""

    aliases: dict[str, tuple[str, ...]] = {}
    literal: bool = False


class LabelScorer(AnswerScorer):
    """`label`: one of the declared labels; score 1 or 0."""

    Options = LabelOptions

    def __init__(self, identity: str, options: LabelOptions, gold: Gold):
        super().__init__(identity, options, gold)
        if not gold.labels:
            raise gold_fault("labels", "a label case lists its labels")
        if gold.positive is not None and gold.positive not in gold.labels:
            raise gold_fault("positive", f"{gold.positive!r} is none of the labels")
        check_aliases(options.aliases, gold.labels)
        self.labels = LabelSet(gold.labels, options.aliases, options.literal)
        self.expected: str | None = None
        if not (options.unanswerable and gold.answer is None):
            self.expected = self._gold_label(gold)

    def _gold_label(self, gold: Gold) -> str:
        if isinstance(gold.answer, str):
            exact = gold.answer if gold.labels and gold.answer in gold.labels else None
            label = exact or self.labels.named(gold.answer)
            if label is not None:
                return label
        raise gold_fault("answer", f"{gold.answer!r} is none of the labels")

    def judge(self, text: str) -> Score:
        """Structured or marked answer first, then the stages of `choose` on the whole text."""
        located = locate(text, self.options, "label", ("label",))
        if located.failure:
            return self.failed(located.failure, stage=located.stage)
        if located.from_json:
            return self._structured(located)
        whole = located.view.text
        scope = (located.start, located.end)
        choice = self._choose(located, scope)
        if located.marked and choice.failure == "no_label":
            said = non_answer(located.text)
            if said or labelled(located.text, self.labels):
                return self.failed(said or "no_label", stage=located.stage)
            if len(located.text.split()) <= 2:
                return self.failed("invalid_label", stage=located.stage)
            scope = (0, len(whole))
            choice = self._choose(located, scope)
        stage = located.stage if located.marked else choice.stage
        if choice.label is None or (choice.stage == "only" and not located.marked):
            said = non_answer(located.text)
            if said == "refusal" or (
                said and choice.label is None and choice.failure != "ambiguous"
            ):
                return self.failed(said, stage=stage)
        if choice.label is None:
            return self.failed(choice.failure or "no_label", stage=stage)
        span = located.span(scope[0] + choice.span[0], scope[0] + choice.span[1])
        return self._scored(choice.label, span, stage)

    def _choose(self, located: Located, scope: tuple[int, int]) -> Choice:
        start, end = scope
        bold = [(a - start, b - start) for a, b in located.view.bold if start <= a and b <= end]
        return choose(located.view.text[start:end], self.labels, bold)

    def _structured(self, located: Located) -> Score:
        value = json_scalar(located.value)
        if value is None:
            return self.failed("no_answer", stage="json")
        if isinstance(value, list | dict):
            return self.failed(
                "ambiguous" if isinstance(value, list) else "wrong_type", stage="json"
            )
        written = clean(str(value)).text
        choice = choose(written, self.labels)
        if choice.label is None:
            if choice.failure == "ambiguous":
                return self.failed("ambiguous", stage="json")
            return self.failed(non_answer(written) or "invalid_label", stage="json")
        return self._scored(choice.label, located.raw_span or (0, 0), "json")

    def _scored(self, label: str, span: tuple[int, int], stage: str) -> Score:
        value = 1.0 if label == self.expected else 0.0
        return Score(value, self.identity, parsed=label, stage=stage, span=span)


def labelled(text: str, labels: LabelSet) -> bool:
    """Whether a text names a label at all, be it to reject it."""
    return bool(labels.mentions(text))


def non_answer(text: str) -> str | None:
    """`refusal` or `no_answer` where a text states one, as a whole or in a sentence."""
    if len(text) <= 80 and noise.MISSING_WORD.fullmatch(text):
        return "no_answer"
    said = noise.non_answer(text)
    return said[0] if said else None


def check_aliases(aliases: Mapping[str, Sequence[str]], labels: Sequence[str]) -> None:
    """Aliases belong to declared names.

    Raises:
        InputError: an alias for a name that is none of them.
    """
    for name in aliases:
        if name not in labels:
            raise gold_fault("labels", f'aliases name "{name}", which is none of the labels')
