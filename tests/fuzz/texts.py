"""Texts that look like what models write, and texts that look like nothing."""

from hypothesis import strategies as st

FRAGMENTS = (
    "Answer: ", "**Final Answer:** ", "#### ", "The answer is ", "\\boxed{", "}", "{", "<answer>",
    "</answer>", "<think>", "</think>", "\nQuestion: ", "\n\nQ: ", "```json\n", "```",
    '{"answer": ', '"label": ', '"unit": "USD m"', "null", "NaN", "true", "[", "]", "(", ")", ",",
    ".", ";", ":", "\n", " ", "\u00a0", "\u202f", "\u200b", "|", "|---|", "- ", "1. ", "12",
    "1,234", "1.234,56", "1 234 567", "1,00,000", "0.145", ".5", "1e9", "1e400", "10^6", "× 10⁹",
    "½", "3/4", "-", "−", "–", "—", "+", "±", "~", "≈", "=", "$", "\\$", "€", "£", "₹", "Rs. ",
    "US$", "USD ", "EUR", "C$", "%", "\\%", " percent", " bps", " pp", "x", " times", " million",
    " bn", "M", "k", " crore", " lakh", "億円", " Mio.", " млрд руб.", " per share", " shares",
    " days", " months", " years", "MW", "twelve", "one hundred and ", "half", "two thirds",
    "minus ", "negative ", " or ", " to ", " and ", " between ", " either ", " from ", " versus ",
    " not ", "neither ", " nor ", " which is ", "Revenue ", "was ", "fell by ", "increase",
    "net loss", "in FY2023", "Q3 2024", "(in thousands)", "Note 12", "10-K", "S&P 500", "yes",
    "No", "true", "False", "positive", "negative", "not_contradictory", "A", "B.", "AA+",
    "credit", "market risk", "Alder", "Birch", "Cedar", " > ", " < ", "Rank", "2024-03-04",
    "March 4, 2024", "04/05/2024", "31 Feb 2024", "FY2023-24", "\\frac{1}{2}", "\\text{",
    "\\times", "&#36;", "&nbsp;", "N/A", "not disclosed", "I cannot help", "nil", "回答: ", "億",
    "円", "△", "add(1, 2)", "divide(#0, const_100), ", "table_sum(row, none)", "EOF", "'", '"',
    "\\", "\x00", "\ud7ff", "１２", "٣", "४",
)  # fmt: skip

soup = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
"""Fragments of answers in any order."""

mixed = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8), st.integers().map(str)), max_size=24
).map("".join)
"""Fragments among arbitrary characters and numbers."""

anything = st.one_of(soup, mixed, st.text(max_size=200))
