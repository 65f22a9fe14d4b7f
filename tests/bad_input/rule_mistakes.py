"""Mistakes in rules and formulas, each with its exact message."""

from __future__ import annotations

from bad_input.cases import SCHEMA, Case, in_schema, swap


def in_rules(name: str, rules: tuple[str, ...], *says: str) -> Case:
    """Rules with a mistake in them."""
    listed = "".join(f"  - {rule}\n" for rule in rules)
    files = {"schema.yaml": f"{SCHEMA}never:\n{listed}"}
    return Case(name=name, heading="schema.yaml", files=files, says=says)


def in_formula(name: str, attribute: str, *says: str) -> Case:
    """One more group attribute, with a mistake in its formula."""
    before = "individual:\n  table"
    text = swap(SCHEMA, (before, f"    {attribute}\n{before}"))
    return Case(name=name, heading="schema.yaml", files={"schema.yaml": text}, says=says)


RULE_CASES = [
    in_rules(
        "an attribute that a rule names wrongly",
        ("agee < 16",),
        (
            "never[0]: in 'agee < 16', attribute 'agee' is unknown. Did you mean 'age'? "
            "Known here: veh, rent, COUNT, sex, age, relate."
        ),
    ),
    in_rules(
        "a role that is not there",
        ("wife.age < 16",),
        ("never[0]: in 'wife.age < 16', role 'wife' is unknown. Known here: head, spouse, child."),
    ),
    in_rules(
        "a role without such an attribute",
        ("spouse.veh = 2",),
        ("never[0]: in 'spouse.veh = 2', spouse has no attribute 'veh'. Known here: sex, age."),
    ),
    in_rules(
        "a value that an attribute does not have",
        ("sex = femal",),
        (
            "never[0]: in 'sex = femal', sex has no value 'femal'. Did you mean 'female'? "
            "Known here: male, female."
        ),
    ),
    in_rules(
        "a value among several that it does not have",
        ("veh in (none, two)",),
        (
            "never[0]: in 'veh in (none, two)', veh has no value 'two'. Known here: 0 "
            "(none), 1 (one), 2 (more)."
        ),
    ),
    in_rules(
        "a number that is not listed",
        ("veh = 5 and age < 18",),
        (
            "never[0]: in 'veh = 5 and age < 18', veh has no value '5'. Known here: 0 "
            "(none), 1 (one), 2 (more)."
        ),
    ),
    in_rules(
        "a size that no group has",
        ("COUNT = 9 and veh = 2",),
        ("never[0]: in 'COUNT = 9 and veh = 2', COUNT has no value '9'. Known here: 1, 2, 3, 4."),
    ),
    in_rules(
        "text that is compared with <",
        ("sex < female",),
        ("never[0]: in 'sex < female', sex is text, and < needs numbers. Compare it with = or in."),
    ),
    in_rules(
        "text in a sum",
        ("age + sex > 3",),
        (
            "never[0]: in 'age + sex > 3', sex is text, and + needs numbers. Compare it "
            "with = or in."
        ),
    ),
    in_rules(
        "an attribute of text beside one of numbers",
        ("sex = age",),
        (
            "never[0]: in 'sex = age', sex and age have no values in common. Compare "
            "attributes of one kind."
        ),
    ),
    in_rules(
        "an attribute that is never blank",
        ("age < 16 and sex not missing",),
        (
            "never[0]: in 'age < 16 and sex not missing', sex is never blank. Declare it "
            "with `missing: true` if blanks occur, or leave the condition out."
        ),
    ),
    in_rules(
        "`= missing`",
        ("sex = missing",),
        "never[0]: in 'sex = missing', a blank is no value. Write `sex missing`.",
    ),
    in_rules(
        "a comparison without a right side",
        ("age <",),
        (
            "never[0]: in 'age <', character 6: the end stands where a number or an "
            "attribute is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "a comparison without a sign",
        ("age 16",),
        (
            "never[0]: in 'age 16', character 5: '16' stands where a comparison such as "
            "`=`, `<`, `in` or `missing` is expected. Write it as in `age < 16 and marital "
            "not missing`."
        ),
    ),
    in_rules(
        "a condition that is only a name",
        ("veh",),
        (
            "never[0]: in 'veh', character 4: the end stands where a comparison such as "
            "`=`, `<`, `in` or `missing` is expected. Write it as in `age < 16 and marital "
            "not missing`."
        ),
    ),
    in_rules(
        "two signs",
        ("age << 16",),
        (
            "never[0]: in 'age << 16', character 6: '< 16' stands where a number or an "
            "attribute is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "a bracket in a rule that is not closed",
        ("(age < 16 and sex = male",),
        (
            "never[0]: in '(age < 16 and sex = male', character 25: the end stands where "
            "`)` is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "a list that is not closed",
        ("veh in (1, 2",),
        (
            "never[0]: in 'veh in (1, 2', character 13: the end stands where `)` is "
            "expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "one bracket too many",
        ("age < 16)",),
        (
            "never[0]: in 'age < 16)', character 9: ')' stands where `and`, `or` or the end"
            " is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "two rules in one line",
        ("age < 16, sex = male",),
        (
            "never[0]: in 'age < 16, sex = male', character 9: ', sex = male' stands where "
            "`and`, `or` or the end is expected. Write it as in `age < 16 and marital not "
            "missing`."
        ),
    ),
    in_rules(
        "`and` without anything after it",
        ("age < 16 and",),
        (
            "never[0]: in 'age < 16 and', character 13: the end stands where a number or an"
            " attribute is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "three things compared at once",
        ("16 <= age < 65",),
        (
            "never[0]: in '16 <= age < 65', three things are compared at once. Write a "
            "range, such as `age in 16..64`, or two comparisons with `and`."
        ),
    ),
    in_rules(
        "a range from high to low",
        ("age in 64..16 and sex = male",),
        ("never[0]: in 'age in 64..16 and sex = male', the range 64..16 is empty. Write 16..64."),
    ),
    in_rules(
        "a range of text",
        ("sex in 1..2",),
        "never[0]: in 'sex in 1..2', sex has no numbers. Known here: male, female.",
    ),
    in_rules(
        "`in` after a sum",
        ("age + 1 in (1, 2)",),
        (
            "never[0]: in 'age + 1 in (1, 2)', character 1: 'age + 1 in (1, 2)' stands "
            "where one attribute before `in` is expected. Write it as in `age < 16 and "
            "marital not missing`."
        ),
    ),
    in_rules(
        "numbers alone",
        ("1 < 2",),
        ("never[0]: in '1 < 2', two sides are compared that never differ. Name an attribute."),
    ),
    in_rules(
        "an attribute compared with itself",
        ("age > age - 1",),
        (
            "never[0]: in 'age > age - 1', two sides are compared that never differ. Name "
            "an attribute."
        ),
    ),
    in_rules(
        "a person and a member in one rule",
        ("spouse.age < 16 and sex = male",),
        (
            "never[0]: in 'spouse.age < 16 and sex = male', sex is anybody's, and "
            "spouse.age is one member's. Write spouse.sex, or two rules."
        ),
    ),
    in_rules(
        "a member in a rule about nobody",
        ("no person with head.age > 16",),
        (
            "never[0]: in 'no person with head.age > 16', head.age is about one member, and"
            " nobody about all. Write age for the person, or a rule of its own about head."
        ),
    ),
    in_rules(
        "nobody who is like nothing",
        ("nobody with veh = 2",),
        (
            "never[0]: in 'nobody with veh = 2', nobody is said to be like nothing about a "
            "person. Name an attribute of persons."
        ),
    ),
    in_rules(
        "`no` without a person",
        ("no age >= 16",),
        (
            "never[0]: in 'no age >= 16', character 4: 'age >= 16' stands where `person "
            "with` is expected. Write it as in `age < 16 and marital not missing`."
        ),
    ),
    in_rules(
        "a value of the role column that others mean too",
        ("relate = 3 and age > 40",),
        ("never[0]: in 'relate = 3 and age > 40', 2 and 3 all mean child. Write `relate = child`."),
    ),
    in_rules(
        "a rule that can never apply",
        ("age > 130",),
        ("never[0]: in 'age > 130', it can never apply. Check the values, or remove the rule."),
    ),
    in_rules(
        "a rule that leaves nobody possible",
        ("sex in (male, female)",),
        ("never[0]: in 'sex in (male, female)', it leaves no person possible. Check the values."),
    ),
    in_rules(
        "rules that leave nobody possible together",
        (
            "sex = male",
            "sex = female",
        ),
        (
            "never[1]: in 'sex = female', with the rules before it, it leaves no value of "
            "sex possible. Check the values."
        ),
    ),
    in_rules(
        "a rule that contradicts a role",
        ("head.age >= 0",),
        (
            "never[0]: in 'head.age >= 0', it contradicts the roles: every group has a "
            "head. Check the values, or set the role's min to 0."
        ),
    ),
    in_rules(
        "a rule that forbids a role",
        ("relate = head",),
        (
            "never[0]: in 'relate = head', it contradicts the role head: every group has "
            "one. Check the values, or set the role's min to 0."
        ),
    ),
    in_rules(
        "a rule that leaves a role nothing",
        ("spouse.age <= 120",),
        (
            "never[0]: in 'spouse.age <= 120', it leaves no group with a spouse possible. "
            "Check the values."
        ),
    ),
    in_rules(
        "nobody who could be",
        ("no person with age > 130",),
        (
            "never[0]: in 'no person with age > 130', no person can be such, so that no "
            "group is possible. Check the values."
        ),
    ),
    in_rules(
        "a rule listed twice",
        (
            "age < 16 and veh = 2",
            "age < 16 and veh = 2",
        ),
        "never[1]: 'age < 16 and veh = 2' is listed twice. Remove one.",
    ),
    in_rules(
        "a rule that is a number",
        ("16",),
        (
            "never[0]: 16 is not a rule. Write what cannot be, such as `age < 16 and "
            "marital not missing`."
        ),
    ),
    in_rules(
        "wrong rules, all of them",
        (
            "agee < 16",
            "spouse.age < sixteen",
            "age < 16 and relate = boss",
        ),
        (
            "never[0]: in 'agee < 16', attribute 'agee' is unknown. Did you mean 'age'? "
            "Known here: veh, rent, COUNT, sex, age, relate."
        ),
        (
            "never[1]: in 'spouse.age < sixteen', attribute 'sixteen' is unknown. Known "
            "here: veh, rent, COUNT, sex, age, relate."
        ),
        (
            "never[2]: in 'age < 16 and relate = boss', relate has no value 'boss'. Known "
            "here: head, spouse, child."
        ),
    ),
    in_formula(
        "a formula that nobody knows",
        "cars: {derived: average(age), bins: [0, 120]}",
        (
            "group.attributes.cars.derived: in 'average(age)', average is no formula. Known"
            " here: count, any, sum, min, max."
        ),
    ),
    in_formula(
        "a formula without members",
        "cars: {derived: veh, values: [0, 1, 2]}",
        (
            "group.attributes.cars.derived: in 'veh', nothing is computed from the members."
            " Write count, any(...), sum(...), min(...), max(...) or ROLE.ATTRIBUTE."
        ),
    ),
    in_formula(
        "a role's attribute where there may be several",
        "kid_age: {derived: child.age, bins: [0, 120], missing: true}",
        (
            "group.attributes.kid_age.derived: in 'child.age', a group may have several "
            "members in the role child. Write max(age where ...), or count(...)."
        ),
    ),
    in_formula(
        "a role that need not be there",
        "spouse_age: {derived: spouse.age, bins: [0, 120]}",
        (
            "group.attributes.spouse_age.derived: in 'spouse.age', a group without a spouse"
            " has a blank here. Add `missing: true`."
        ),
    ),
    in_formula(
        "`any` with values that are neither true nor false",
        "old: {derived: any(age >= 65), values: [young, old]}",
        (
            "group.attributes.old.derived: in 'any(age >= 65)', the result is true or "
            "false, and the values are ['young', 'old']. Write `values: [false, true]` or "
            "`values: [0, 1]`."
        ),
    ),
    in_formula(
        "a count that is not listed",
        "kids: {derived: count(age < 18), values: [1, 2, 3]}",
        (
            "group.attributes.kids.derived: in 'count(age < 18)', the result can be 0, "
            "which is not listed. Add it to `values`."
        ),
    ),
    in_formula(
        "a count as text",
        "kids: {derived: count(age < 18), values: ['0', '1', '2+']}",
        (
            "group.attributes.kids.derived: in 'count(age < 18)', the result is a number, "
            "and the values are ['0', '1', '2+']. List whole numbers; the last means `or "
            "more`."
        ),
    ),
    in_formula(
        "a sum without bins",
        "ages: {derived: sum(age)}",
        (
            "group.attributes.ages.derived: in 'sum(age)', a sum needs bins. Add `bins: [0,"
            " ..., 480]`."
        ),
    ),
    in_formula(
        "a sum beyond the bins",
        "ages: {derived: sum(age), bins: [0, 100, 200]}",
        (
            "group.attributes.ages.derived: in 'sum(age)', the result can be 0 to 480, "
            "beyond the bins 0 to 200. Widen the bins."
        ),
    ),
    in_formula(
        "a sum of text",
        "ages: {derived: sum(sex), bins: [0, 100, 200]}",
        (
            "group.attributes.ages.derived: in 'sum(sex)', sex has no numbers. Use "
            "count(...) or any(...)."
        ),
    ),
    in_formula(
        "a minimum of a group attribute",
        "least: {derived: min(rent), bins: [0, 5000]}",
        (
            "group.attributes.least.derived: in 'min(rent)', rent is not an attribute of "
            "every member. Name one of sex, age."
        ),
    ),
    in_formula(
        "a minimum that can be blank",
        "least: {derived: min(age where sex = male), bins: [0, 120]}",
        (
            "group.attributes.least.derived: in 'min(age where sex = male)', the result can"
            " be blank. Add `missing: true`."
        ),
    ),
    in_formula(
        "a count of nothing",
        "kids: {derived: count(), values: [0, 1]}",
        (
            "group.attributes.kids.derived: in 'count()', character 7: ')' stands where a "
            "number or an attribute is expected. Write it as in `age < 16 and marital not "
            "missing`."
        ),
    ),
    in_formula(
        "a condition of a formula with a mistake",
        "kids: {derived: count(age < 18 and sx = male), values: [0, 1]}",
        (
            "group.attributes.kids.derived: in 'count(age < 18 and sx = male)', attribute "
            "'sx' is unknown. Did you mean 'sex'? Known here: veh, rent, kids, COUNT, sex, "
            "age, relate."
        ),
    ),
    in_formula(
        "a condition that is not about people",
        "kids: {derived: count(veh = 2), values: [0, 1]}",
        (
            "group.attributes.kids.derived: in 'count(veh = 2)', the condition says nothing"
            " about a person. Name an attribute of persons."
        ),
    ),
    in_formula(
        "a member in a formula about all",
        "kids: {derived: count(head.age < 18), values: [0, 1]}",
        (
            "group.attributes.kids.derived: in 'count(head.age < 18)', head.age is about "
            "one member, and count about all. Write age, or `head.age` alone."
        ),
    ),
    in_formula(
        "a copy with a value that is not listed",
        "head_sex: {derived: head.sex, values: [male]}",
        (
            "group.attributes.head_sex.derived: in 'head.sex', the result can be 'female'. "
            "Add it to `values`."
        ),
    ),
    in_formula(
        "a number copied into a list",
        "head_age: {derived: head.age, values: [1, 2]}",
        (
            "group.attributes.head_age.derived: in 'head.age', the result is a number "
            "without a list of values. Give `bins` instead."
        ),
    ),
    in_formula(
        "text copied into bins",
        "head_sex: {derived: head.sex, bins: [0, 1]}",
        (
            "group.attributes.head_sex.derived: in 'head.sex', the result is no number. "
            "List its `values` instead of bins."
        ),
    ),
    in_formula(
        "`derived` that is a number",
        "kids: {derived: 3, values: [0, 1]}",
        (
            "group.attributes.kids.derived: 3 is no formula. Write true, or how it is "
            "computed, such as `derived: count`."
        ),
    ),
    in_schema(
        "`never` that is no list",
        "max_size: 4",
        "max_size: 4\nnever: age < 16",
        (
            "never: 'age < 16' is not a list. Write a list of rules, such as `- age < 16 "
            "and marital not missing`."
        ),
    ),
    in_schema(
        "an empty rule",
        "max_size: 4",
        "max_size: 4\nnever: ['']",
        (
            "never[0]: '' is not a rule. Write what cannot be, such as `age < 16 and "
            "marital not missing`."
        ),
    ),
    in_schema(
        "a typing error in `on_violation`",
        "max_size: 4",
        "max_size: 4\non_violation: dorp",
        (
            "on_violation: 'dorp' is neither error nor drop. Write error (refuse such data)"
            " or drop (leave such groups out)."
        ),
    ),
    in_schema(
        "a weight that is not there",
        "  id: household_id",
        "  id: household_id\n  weight: wgt",
        "group.weight: 'wgt' is not a group attribute. Known here: veh, rent.",
    ),
    in_schema(
        "a weight that is text",
        "  id: household_id\n  attributes:",
        "  id: household_id\n  weight: tenure\n  attributes:\n    tenure: {values: [own, rented]}",
        "group.weight: 'tenure' has no numbers. A weight is a number.",
    ),
]
