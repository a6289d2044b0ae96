import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.data.custom_features import CustomFeature, parse_custom_feature
from holdfast.data.schema import Feature
from holdfast.errors import CustomFeatureError
from reference.python_answer import python_answer

nan = np.nan
AGE, BMI, CRP = Feature("age"), Feature("bmi"), Feature("crp")
SEX = Feature("sex", "nominal", categories=("female", "male"))
HOME = Feature("home", "nominal", categories=("ghent", "lille", "paris"))
WORK = Feature("work", "nominal", categories=("berlin", "ghent", "paris"))
STAGE = Feature("stage", "ordered", high=2.0, categories=("early", "middle", "late"))
STAGE_BEFORE = Feature("stage before", "ordered", high=2.0, categories=("early", "middle", "late"))
SMOKER = Feature("smoker", "nominal", categories=(False, True))
CODE = Feature("code", "nominal", categories=(-1, 2, 30))
FEATURES = (AGE, BMI, CRP, SEX, HOME, WORK, STAGE, STAGE_BEFORE, SMOKER, CODE)


def answers(text: str, **columns: list[object]) -> list[float]:
    """The answers, given values as people write them; None is missing."""
    feature = parse_custom_feature(text, FEATURES)
    return feature.evaluate([encoded(FEATURES[index], columns) for index in feature.columns]).tolist()


def encoded(feature: Feature, columns: dict[str, list[object]]) -> np.ndarray:
    values = columns[feature.name.replace(" ", "_")]
    codes = {label: index for index, label in enumerate(feature.categories)}
    return np.array([nan if v is None else codes[v] if codes else v for v in values], np.float64)


def same(found: list[float], expected: list[float]) -> bool:
    return np.array_equal(found, expected, equal_nan=True)


# -- numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age ** 2 < 900", [1, 0, nan]),
        ("age - bmi > 10", [0, 1, nan]),
        ("age == bmi", [1, 0, nan]),
        ("20 < age <= 40", [0, 1, nan]),
        ("age / 3 >= 13 and age % 2 == 0", [0, 1, nan]),
        ("-age // 3 == -7", [1, 0, nan]),
        ("log(age + 1) > 3.5", [0, 1, nan]),
        ("max(age, bmi, 30) - min(age, bmi) >= 15", [0, 1, nan]),
        ("round(age / 40) == 0 or floor(sqrt(age)) == 6 or ceil(exp(age)) < 0", [1, 1, nan]),
        ("age in (20, 30)", [1, 0, nan]),
        ("age not in [20, 30]", [0, 1, nan]),
        ("\n  age\n  > 30 ", [0, 1, nan]),
    ],
)
def test_numbers_are_compared_after_arithmetic(text: str, expected: list[float]) -> None:
    assert same(answers(text, age=[20, 40, None], bmi=[20, 25, 25]), expected)


@pytest.mark.parametrize(
    "text",
    ["age ** 0 == 1", "1 ** age == 1", "min(age, 0) <= 0", "age != age", "not age > 1", "age in (1, 2)"],
)
def test_a_missing_operand_leaves_the_answer_unknown(text: str) -> None:
    assert same(answers(text, age=[None]), [nan])


@pytest.mark.parametrize(
    "text",
    [
        "1 / age > 5",
        "log(age) < 0",
        "sqrt(age - 1) >= 0",
        "age % age == 0",
        "exp(age + 1000) > 1",
        "age < 9**9**9",
    ],
)
def test_a_result_that_is_no_finite_number_is_unknown_and_nothing_warns(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same(answers(text, age=[0]), [nan])


def test_logic_answers_whenever_the_known_side_decides() -> None:
    sides = {"age": [1, 1, 1, 0, 0, 0, None, None, None], "bmi": [1, 0, None] * 3}
    assert same(answers("age > 0 and bmi > 0", **sides), [1, 0, nan, 0, 0, 0, nan, 0, nan])
    assert same(answers("age > 0 or bmi > 0", **sides), [1, 1, 1, 1, 0, nan, 1, nan, nan])
    assert same(answers("not (age > 0 and bmi > 0)", **sides), [0, 1, nan, 1, 1, 1, nan, 1, nan])


def test_a_question_about_no_rows_has_no_answers() -> None:
    assert answers("age > 3 or True", age=[]) == []


def test_a_constant_beside_a_column_still_answers_every_row() -> None:
    assert answers("True or age > 3", age=[1, None]) == [1, 1]


# -- categories ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sex == 'female'", [1, 0, nan]),
        ("'female' != sex", [0, 1, nan]),
        ("home in ('lille', 'paris')", [0, 1, 1]),
        ("home not in {'lille', 'paris'}", [1, 0, 0]),
        ("home == work", [1, 0, 1]),
        ("home != work", [0, 1, 0]),
        ("stage < 'late'", [1, 0, nan]),
        ("'middle' <= stage", [0, 1, nan]),
        ("'early' <= stage < 'late'", [1, 0, nan]),
        ("stage > `stage before`", [0, 1, nan]),
        ("code == -1", [1, 0, 0]),
        ("code in (2, 30.0)", [0, 1, 1]),
        ("smoker", [1, 0, nan]),
        ("not smoker and home == 'lille'", [0, 1, 0]),
        ("smoker == False", [0, 1, nan]),
    ],
)
def test_categories_are_compared_by_value(text: str, expected: list[float]) -> None:
    columns = {
        "sex": ["female", "male", None],
        "home": ["ghent", "lille", "paris"],
        "work": ["ghent", "berlin", "paris"],
        "stage": ["early", "late", None],
        "stage_before": ["early", "middle", "late"],
        "smoker": [True, False, None],
        "code": [-1, 2, 30],
    }
    assert same(answers(text, **columns), expected)


def test_a_true_or_false_column_needs_no_comparison_even_if_only_one_value_occurred() -> None:
    feature = parse_custom_feature("smoker", [Feature("smoker", "nominal", categories=(True,))])
    assert same(feature.evaluate([np.array([0.0, nan])]).tolist(), [1, nan])


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["resting bp", "class", "a.b", "größe (cm)", "it's", 'say "x"', "2nd", "#", "log"]
)
def test_any_name_can_be_asked_about_in_backticks(name: str) -> None:
    feature = parse_custom_feature(f"1 < `{name}` and `{name}` < 3", [AGE, Feature(name)])
    assert feature.columns == (1,)
    assert feature.evaluate([np.array([2.0, 4.0])]).tolist() == [1, 0]


@pytest.mark.parametrize("name", ["µg", "größe", "ﬁeld", "年齢"])
def test_a_name_is_taken_letter_by_letter_as_the_data_spells_it(name: str) -> None:
    assert parse_custom_feature(f"age > 1 and {name} > 2", [Feature(name), AGE]).columns == (1, 0)


def test_columns_come_in_the_order_in_which_the_text_names_them_and_once_each() -> None:
    assert parse_custom_feature("crp > age and age > 1 and bmi < crp", FEATURES).columns == (2, 0, 1)


def test_custom_features_cannot_read_other_custom_features() -> None:
    with pytest.raises(CustomFeatureError, match="is not a column"):
        parse_custom_feature(
            "`age > 60` == True", [AGE, Feature("age > 60", "question", categories=(False, True))]
        )


def test_a_custom_feature_can_be_pickled() -> None:
    feature = parse_custom_feature(
        "sex == 'female' and log(age) > home == 'ghent'".replace("> home", "> 1 and home"), FEATURES
    )
    assert pickle.loads(pickle.dumps(feature)) == feature


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bmj > 3", r"'bmj' at character 1 is not a column. Did you mean bmi\?"),
        ("age > BMI", r"'BMI' at character 7 is not a column. Did you mean bmi\?"),
        ("größe > 3", "'größe' at character 1 is not a column. The columns are age, bmi"),
        ("`stage_before` == 'late'", "Did you mean `stage before`"),
        ("age ** 2", "'age \\*\\* 2' at character 1 is a number.*compare it with something"),
        ("sex", "'sex' at character 1 is a category.*compare it with something"),
        ("'female'", "is text.*compare it with something"),
        ("age and bmi > 2", "'age' at character 1 is a number.*compare it with something"),
        ("1 < 2", "uses no column"),
        ("9**9**9 > 1", "uses no column"),
        ("age == 'old'", "'old'\" at character 8 is text, not a number"),
        ("age in (1, 'b')", "'b'\" at character 12 is text, not a number"),
        ("sex == 3", "'3' at character 8 is not a category of sex. The categories are 'female', 'male'"),
        ("sex == 'femal'", "is not a category of sex. Did you mean 'female' or 'male'"),
        ("sex == age", "'age' at character 8 is a number, not a category of sex"),
        ("sex + 1 > 2", "'sex' at character 1 is a category, not a number"),
        ("sex < 'male'", "no order"),
        ("home < work", "no order in common"),
        ("(age > 1) == (bmi > 2)", "'age > 1' at character 2 is true or false"),
        ("(age > 1) + 1 > 2", "is true or false"),
        ("age > True", "'True' at character 7 is true or false"),
        ("age in bmi", "is not a list of values"),
        ("age in ()", "is not a list of values"),
        ("age in (1, bmi)", "'bmi' at character 12 is not a constant"),
        ("1 < age in (2, 3)", "chains `in`"),
        ("age.real > 1", "'age.real' at character 1 is not allowed. Allowed are"),
        ("().__class__ == 1", "is not allowed"),
        (
            "__import__('os').system('true') == 0",
            'system" at character 1 is not a function',
        ),
        ("eval('1') > age", "'eval' at character 1 is not a function of the language. Allowed are"),
        ("(lambda: 1)() > age", "'lambda: 1' at character 2 is not a function"),
        ("age[0] > 1", "'age\\[0\\]' at character 1 is not allowed"),
        ("[x for x in age] == 1", "is not allowed"),
        ("(x := age) > 1", "'x := age' at character 2 is not allowed"),
        ("sex == f'{age}'", "at character 8 is not"),
        ("max(*age, 1) > 1", r"'\*age' at character 5 is not allowed"),
        ("round(age, ndigits=1) > 1", "'1' at character 20 is a keyword argument of round"),
        ("log(age, 2) > 1", "has 2 arguments for log. It takes exactly one"),
        ("max(age) > 1", "has 1 argument\\(s\\) for max. It takes two or more"),
        ("age if smoker else bmi", "is not allowed"),
        ("age > 1 & bmi > 2", "'1 & bmi' at character 7 has an operator that is not allowed. Write `and`"),
        ("age ^ 2 > 3", r"Write `\*\*`"),
        ("~smoker", "Write `not`"),
        ("age is 3", "Write `==`"),
        ("age = 3", "'= 3' at character 5 cannot be read \\(compare with ==, not with =\\)"),
        ("age > None", "'None' at character 7 is not allowed"),
        ("age > 1j", "'1j' at character 7 is not allowed"),
        ("age > b'1'", "is not allowed"),
        ("age > 1e999", "'1e999' at character 7 is too large"),
        ("age > " + "9" * 400, "at character 7 is too large"),
        ("age > 1 # old", "'#' at character 9 starts a comment"),
        ("age > (1", "'\\(1' at character 7 cannot be read"),
        ("", "it is empty"),
        ("age > 1" + " " * 1000, "it has 1,007 characters, more than 1,000"),
        ("age" + " + 1" * 200 + " > 1", "nested more than 64 levels"),
        ("-" * 900 + "age > 1", "nested"),
        ("(" * 500, "cannot be read"),
    ],
)
def test_what_is_not_in_the_language_is_named_with_its_place_and_the_way_out(text: str, message: str) -> None:
    with pytest.raises(CustomFeatureError, match=message):
        parse_custom_feature(text, FEATURES)


def test_a_name_that_python_would_take_apart_is_offered_in_backticks() -> None:
    with pytest.raises(CustomFeatureError, match=r"Write the column as `blood.sugar`"):
        parse_custom_feature("blood.sugar > 5", [Feature("blood.sugar")])


# -- the language is Python's --------------------------------------------------------------------------------

NUMBERS = ("age", "bmi", "crp")
small = st.integers(-4, 4).map(float)


def arithmetic(depth: int) -> st.SearchStrategy[str]:
    leaves = st.sampled_from(NUMBERS) | st.integers(0, 5).map(str) | st.just("0.5")
    if depth == 0:
        return leaves
    part = arithmetic(depth - 1)
    return (
        leaves
        | st.builds("({} {} {})".format, part, st.sampled_from(["+", "-", "*", "/", "//", "%"]), part)
        | st.builds("{} ** {}".format, leaves, st.sampled_from(["2", "3", "0"]))
        | st.builds("-{}".format, leaves)
        | st.builds("{}({})".format, st.sampled_from(["abs", "floor", "ceil", "round"]), part)
        | st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), part, part)
    )


def conditions(depth: int) -> st.SearchStrategy[str]:
    sign = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
    number = arithmetic(2)
    label = st.sampled_from(["'ghent'", "'paris'", "home", "work"])
    leaves = (
        st.builds("{} {} {}".format, number, sign, number)
        | st.builds("{} {} {} {} {}".format, number, sign, number, sign, number)
        | st.builds("{} {} (0, -1, 2.0)".format, number, st.sampled_from(["in", "not in"]))
        | st.builds("home {} {}".format, st.sampled_from(["==", "!="]), label)
        | st.builds("work {} ['berlin', 'ghent']".format, st.sampled_from(["in", "not in"]))
    )
    if depth == 0:
        return leaves
    part = conditions(depth - 1)
    return (
        leaves
        | st.builds("({}) {} ({})".format, part, st.sampled_from(["and", "or"]), part)
        | part.map("not ({})".format)
    )


rows = st.fixed_dictionaries(
    {
        **dict.fromkeys(NUMBERS, st.none() | small),
        "home": st.none() | st.sampled_from(HOME.categories),
        "work": st.none() | st.sampled_from(WORK.categories),
    }
)


@given(conditions(2), st.lists(rows, max_size=6))
@example("-age ** 2 < 0", [{"age": 2.0, "bmi": 0.0, "crp": 0.0, "home": None, "work": None}])
@example("(age) ** 0 == 1", [{"age": None, "bmi": 0.0, "crp": 0.0, "home": None, "work": None}])
def test_answers_equal_those_of_python_row_by_row(text: str, table: list[dict[str, object]]) -> None:
    try:
        feature = parse_custom_feature(text, FEATURES)
    except CustomFeatureError as error:
        assume("no column" not in str(error))
        raise
    columns = {name: [row[name] for row in table] for name in (*NUMBERS, "home", "work")}
    found = feature.evaluate([encoded(FEATURES[index], columns) for index in feature.columns])
    assert same(found.tolist(), [python_answer(text, row) for row in table])


@given(st.sampled_from(["log", "log2", "log10", "exp", "sqrt"]), st.floats(-50, 50), st.floats(-50, 50))
def test_functions_equal_those_of_python(name: str, value: float, limit: float) -> None:
    try:
        result = getattr(math, name)(value)
    except ValueError:
        assert same(answers(f"{name}(age) < {limit!r}", age=[value]), [nan])
        return
    assume(not math.isclose(result, limit))
    assert answers(f"{name}(age) < {limit!r}", age=[value]) == [float(result < limit)]


# -- any text at all -----------------------------------------------------------------------------------------

WORDS = """
    age bmi sex home smoker 'male' "x ` `age` ( ) [ ] , and or not in is if else lambda : := = == < > ** * /
    % - ~ & 1 9 1e308 0x1F 1j True None log( max( f' b' { } . ... @ # yield await é µ
"""
words = st.sampled_from([*WORDS.split(), "\\", "\n", "\t", "\x00", "\ud800", "\u00a0"])


@given(
    st.text(max_size=60)
    | st.lists(words, max_size=14).map(" ".join)
    | st.lists(words, max_size=14).map("".join)
)
def test_any_text_is_a_custom_feature_or_an_error(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            feature = parse_custom_feature(text, FEATURES)
        except CustomFeatureError:
            return
        assert isinstance(feature, CustomFeature)
        found = feature.evaluate([np.array([0.0, 1.0, nan])] * len(feature.columns))
    assert found.shape == (3,)
    assert set(found[~np.isnan(found)]) <= {0.0, 1.0}


@given(st.sampled_from(["age", "-age", "not age > 1", "(age", "log(age"]), st.integers(65, 200))
def test_nesting_ends_in_an_error_before_the_stack_does(inner: str, depth: int) -> None:
    for nest in ("-", "(", "not ", "abs(", "1 - "):
        with pytest.raises(CustomFeatureError):
            parse_custom_feature(nest * depth + inner, FEATURES)
