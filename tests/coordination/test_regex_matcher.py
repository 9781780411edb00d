import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.coordination.regex_matcher import compile_regex
from distributedlog.coordination.regex_syntax import RegexError


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("abc", ["abc"], ["ab", "abcd", "xabc", ""]),
        ("", [""], ["a"]),
        ("a|b|", ["a", "b", ""], ["ab"]),
        ("a.c", ["abc", "a.c"], ["ac", "a\nc"]),
        ("(?s)a.c", ["a\nc"], []),
        ("(ab)*c", ["c", "abc", "ababc"], ["abab", "ac"]),
        ("a{2,3}", ["aa", "aaa"], ["a", "aaaa"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]),
        ("a{,2}", ["a{,2}"], ["a", "aa"]),
        ("a+?b??", ["a", "aab"], ["b", "abb"]),
        ("[a-c_]+", ["abc_"], ["d", ""]),
        ("[^a-c]", ["d", "."], ["a", ""]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[[:alpha:]_]+", ["aZ_"], ["1"]),
        ("[[:^digit:]]", ["a"], ["1"]),
        (r"[\d.]+", ["1.2"], ["a"]),
        (r"\w+-\d+", ["topic-12", "t_1-0"], ["topic-", "to.pic-1"]),
        (r"\Qa.b*\E+", ["a.b*", "a.b**"], ["aab"]),
        (r"\x61\x{62}\143", ["abc"], []),
        (r"\pL+\p{Nd}", ["aB1"], ["1"]),
        (r"\PL|\p{^L}", ["1"], ["a"]),
        (r"^foo$", ["foo"], ["foobar"]),
        (r"\Afoo\z", ["foo"], []),
        (r"foo\b-bar", ["foo-bar"], []),
        (r"foo\Bbar", ["foobar"], []),
        (r"foo\bbar", [], ["foobar"]),
        ("a^b", [], ["ab", "a^b"]),
        ("(?i)AbC[d-f]", ["aBcE"], []),
        ("(?i:a)b", ["Ab"], ["AB"]),
        ("a(?i)b|c", ["aB", "C"], ["AB"]),
        ("(?P<name>a)(?<other>b)(?:c)", ["abc"], []),
        ("ü", ["ü"], ["u", "û"]),
        ("[ü-ÿa]", ["a", "ü", "þ"], ["u", "û", "Ā"]),
        (r"\x{fc}+", ["üü"], ["û"]),
        ("[^ü]", ["û", "a", "\U0001f600"], ["ü"]),
        ("a.c", ["aüc", "a\U0001f600c"], []),
        (r"заказы-\d", ["заказы-1"], ["заказ-1"]),
    ],
)
def test_patterns(pattern, matching, others):
    matcher = compile_regex(pattern)
    assert [name for name in matching if not matcher.matches(name)] == []
    assert [name for name in others if matcher.matches(name)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "(a",
        "a)",
        "[",
        "[a",
        "[z-a]",
        "[[:nope:]]",
        "*",
        "a**",
        "a+*",
        "|*",
        "a{1001}",
        "a{3,2}",
        "\\",
        "\\8",
        r"(a)\1",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        "(?P=name)",
        "(?>a)",
        "(?#comment)",
        r"\Z",
        r"\x{110000}",
        "a" * 4_097,
        "(" * 51 + ")" * 51,
        "((a{1000}){1000}){1000}",
        "[\u0400-\u0800]",
    ],
)
def test_what_re2_has_not_and_what_is_too_large_is_refused(pattern):
    with pytest.raises(RegexError):
        compile_regex(pattern)


def test_time_does_not_explode():
    nasty = compile_regex("((a+)+|(a|a)*|(a?){30}a{30})b")
    assert not nasty.matches("a" * 249)
    assert len(nasty._table) < 100, "sets of states that were computed; backtracking would try 2 ** 249 ways"


_PIECES = st.sampled_from(
    ["a", "b", "ab", "[ab]", "[^a]", ".", r"\w", "a?", "b*", "(a|b)+", "(ab){1,2}", "^", "$"]
)


@given(
    st.lists(st.lists(_PIECES, min_size=1, max_size=4).map("".join), min_size=1, max_size=3).map("|".join),
    st.text("ab-", max_size=8),
)
def test_it_agrees_with_python_on_what_both_understand(pattern, name):
    expected = re.fullmatch(pattern.replace("$", r"\Z"), name) is not None
    assert compile_regex(pattern).matches(name) == expected


@given(st.text(max_size=40))
def test_any_text_is_an_expression_or_a_regex_error(pattern):
    try:
        matcher = compile_regex(pattern)
    except RegexError:
        return
    matcher.matches("some-topic_1.x")
