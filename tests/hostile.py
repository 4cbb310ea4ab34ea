"""Answers that try to be something else than text, one a format that a report is written in."""

SCRIPT = "<script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"
CLOSING = "</script><script>window.hit = 1</script><!-- <script>"
MARKDOWN = (
    "**bold** [link](https://evil.example/) ![i](https://evil.example/i.png) `code` | cell |\n"
    "# heading\n```\nfence\n````\n@octocat #1 </details> <!-- fineval -->"
)
COMMAND = "::error file=x::owned\n::set-output name=a::b\n##[error]owned\r::stop-commands::x"
FORMULA = '=HYPERLINK("https://evil.example/","click")'
FORMULAS = (FORMULA, "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "＝1", " =1+1")
ANSI = "\x1b[31mred\x1b[2J\x1b]0;title\x07\x9b1m\x08\x00"
BIDI = "loss of \u202e000,1\u202c USD \u2066hidden\u2069 \u200b\ufeff zero"
LINES = "one\u2028two\u2029three\x85four\x0bfive\x0csix"
SURROGATE = "half \ufffd pair, astral \U0001f4c9"
TEMPLATE = "{{ 7*7 }} {% raw %} ${{ github.token }} ]]> &amp; <![CDATA["

ALL = (SCRIPT, CLOSING, MARKDOWN, COMMAND, FORMULA, ANSI, BIDI, LINES, SURROGATE, TEMPLATE)
