"""How a wish may be said: clauses without their full stop, one table per kind.

Two things to mind. Polarity: a house rule says what must be allowed, never what is forbidden. And
"not": a negation reaches the words after it (`wishes.BETWEEN`), so a clause with one ends before
anything else is said. Slots as in `phrases`.
"""

from __future__ import annotations

# {rule} is the thing that must be allowed, {is} agrees with it
HOUSE_RULE_CLAUSES = (
    "{our} accommodations must allow {rule}",
    "the accommodation has to permit {rule}",
    "{we} require accommodations that allow {rule}",
    "{we} require accommodations where {rule} {is} allowed",
    "{we} need lodging where {rule} {is} permitted",
    "it is important that {our} lodgings allow {rule}",
    "please choose accommodations that permit {rule}",
    "{rule} must be allowed wherever {we} stay",
    "the house rules should allow {rule}",
)
RULE_CLAUSES: dict[str, tuple[str, ...]] = {
    "smoking": (
        "{we} require accommodations where smoking is permissible",
        "{we} smoke, so {our} accommodation must allow it",
        "{we} would like to be able to smoke where {we} stay",
        "the place should be friendly to smokers",
    ),
    "parties": (
        "{we} require accommodations that are conducive to hosting parties",
        "{we} would like the flexibility to host parties",
        "{we} want to throw parties where {we} stay, so they must be allowed",
        "the accommodation should be party-friendly",
    ),
    "children under 10": (
        "{our} accommodations must be suitable for children under 10",
        "{our} lodging options must accommodate children under the age of 10",
        "it is vital that {our} accommodations welcome children under 10",
        "the place {we} stay in must accept kids under 10",
    ),
    "visitors": (
        "{we} require accommodations that welcome visitors",
        "{we} expect visitors, so they must be allowed where {we} stay",
        "visitors should be welcome in {our} accommodation",
        "{we} need a place where guests are allowed",
    ),
    "pets": (
        "pet-friendly accommodations are a must",
        "{we} will be bringing {our} pets, so {we} need pet-friendly accommodations",
        "accommodations with pet-friendly house rules would be preferred",
        "{our} accommodation must welcome pets",
    ),
}
# only where more than one person travels
COMPANY_CLAUSES: dict[str, tuple[str, ...]] = {
    "children under 10": (
        (
            "since {we} will be traveling with young children, {our} accommodations must be"
            " suitable for children under 10"
        ),
        "{our} accommodations must permit children under 10 since {we} will have them with {us}",
    ),
    "pets": ("{we} will be accompanied by {our} pets, so {we} need pet-friendly accommodations",),
}

ROOM_TYPE_CLAUSES: dict[str, tuple[str, ...]] = {
    "entire room": (
        "{we} require entire rooms for {our} stay",
        "{we} would like entire rooms to {ourselves}",
        "{we} would prefer to have entire rooms",
        "entire rooms for accommodations would be ideal",
        "{our} accommodations should ideally be entire rooms",
        "{we} would like to rent entire rooms",
        "{we} require accommodations that provide entire rooms",
        "{our} lodging should be an entire room",
    ),
    "private room": (
        "{we} would prefer to have private rooms for {our} stay",
        "{we} require private rooms for accommodations",
        "{we} require accommodations that provide private rooms",
        "{we} intend to stay in private rooms",
        "{our} preferred accommodations are private rooms",
        "a private room would be ideal",
    ),
    "shared room": (
        "{we} would like to stay in shared rooms",
        "{we} would be happy with a shared room",
        "{our} preferred accommodations are shared rooms",
        "{we} {are} looking for shared rooms",
        "a shared room would be ideal",
        "{we} require accommodations that provide shared rooms",
    ),
    "not shared room": (
        "{we} prefer not to share a room",
        "{we} would rather not have a shared room",
        "{we} do not want to share {our} room",
        "the rooms must not be shared",
        "{we} require rooms that are not shared",
        "{we} would prefer non-shared rooms",
        "shared rooms are not an option",
        "{we} would like any room other than a shared room",
    ),
}

TRANSPORTATION_CLAUSES: dict[str, tuple[str, ...]] = {
    "no flight": (
        "{we} would prefer not to fly",
        "no flights, please",
        "{we} do not want to take any flights",
        "{we} will not be taking any flights for transportation",
        "transportation should not involve any flights",
        "{we} intend to avoid any flights for {our} transportation",
        "{we} would prefer a journey that does not involve flying",
        "{we} do not plan to travel by flight",
        "please plan the journey without flights",
        "flights are off the table",
        "it is imperative that {our} journey does not involve any flights",
        "{we} prefer not to take any flights",
    ),
    "no self-driving": (
        "{we} do not plan to drive {ourselves}",
        "no self-driving, please",
        "{we} do not plan on self-driving for this trip",
        "{we} prefer non-self-driving transportation",
        "{we} would rather not drive",
        "{we} do not intend to self-drive",
        "please plan the journey without self-driving",
        "self-driving is off the table",
        "{we} would prefer to avoid self-driving",
        "as for transportation, {we} do not plan to drive {ourselves} around",
    ),
}

# {cuisines} is "Italian", "Italian and French", "Italian, French, and Indian"
CUISINE_CLAUSES = (
    "{we} would like to eat {cuisines} food",
    "{we} would love to try {cuisines} cuisine on {our} journey",
    "{we} would love to experience {cuisines} cuisine during {our} trip",
    "{we} enjoy {cuisines} cuisine",
    "as for dining preferences, {we} {are} particularly fond of {cuisines} cuisine",
    "as for meals, {we} have a preference for {cuisines} cuisine",
    "in terms of food, {we} would like to have {cuisines} dishes",
    "{our} meals should preferably include {cuisines} cuisine",
    "{we} {are} food lovers and would like to taste {cuisines} cuisine",
    "regarding dining options, {we} prefer {cuisines} restaurants",
    "{we} {are} hoping to find places that offer {cuisines} cuisine",
)
SEVERAL_CUISINES_CLAUSES = (
    "in terms of food, {we} would like to have a variety of cuisines, including {cuisines}",
    "{we} {are} open to a variety of cuisines, including {cuisines}",
    "{we} expect to experience a blend of {cuisines} cuisines during {our} stay",
    "as far as cuisines are concerned, {we} would love to experience {cuisines}",
)
