"""What a trip request may be made of: openings, dates, parties, routes, budgets, wishes, closings.

The tables follow the phrasing of the 45 official training requests (row T2). Slots: {we} {our} {us}
{are} {ourselves} are the speaker's words. Every phrase keeps to what `queries.reading` reads, and
`tests/queries` reads thousands of texts back.

Two things to mind in wishes. Polarity: a house rule says what must be allowed, never what is
forbidden. And "not": a negation reaches the words after it (`wishes.BETWEEN`), so a clause with one
ends before anything else is said.
"""

from __future__ import annotations

GREETINGS = ("Hello!", "Hi there!", "Good day.", "Hello, I hope you can help.")
# (words before the plan, "?" or ".")
OPENERS: tuple[tuple[str, str], ...] = (
    *(
        (f"{start} {verb}", "?")
        for start in ("Could you", "Can you", "Could you please", "Would you")
        for verb in ("create", "devise", "draft")
    ),
    ("Could you assist in crafting", "?"),
    ("Could you assist {us} in creating", "?"),
    ("Could you help {us} come up with", "?"),
    ("Could you help {us} craft", "?"),
    ("Can you help {us} prepare", "?"),
    ("Can you help with generating", "?"),
    ("Can you provide {us} with", "?"),
    ("Could you formulate", "?"),
    ("Could you arrange", "?"),
    ("Can you prepare", "?"),
    ("Would you be able to design", "?"),
    ("Please create", "."),
    ("Please design", "."),
    ("Please help {us} plan", "."),
    ("Please help in creating", "."),
    ("Please provide {us} with", "."),
    ("Please prepare", "."),
    ("Craft", "."),
    ("Help {us} draw up", "."),
    ("{We} need", "."),
    ("{We} require", "."),
    ("{We} would like", "."),
    ("{We} {are} looking for", "."),
    ("I need help crafting", "."),
)
PLAN_NOUNS = ("travel plan", "trip plan", "itinerary", "travel itinerary", "trip itinerary")
DAYS_INLINE = (
    "for {days} days",
    "spanning {days} days",
    "over {days} days",
    "lasting {days} days",
    "that takes {days} days",
)
DAYS_CLAUSE = (
    "the trip should span {days} days",
    "the trip will last {days} days",
    "{we} will be away for {days} days",
)

# one city
CITY_INLINE = (
    "from {org} to {dest}",
    "departing from {org} and heading to {dest}",
    "departing {org} and heading to {dest}",
    "departing {org} for {dest}",
    "starting in {org} and visiting {dest}",
    "starting from {org} and going to {dest}",
    "leaving {org} for {dest}",
    "beginning in {org} and visiting {dest}",
    "setting off from {org} towards {dest}",
    "that departs from {org} and goes to {dest}",
    "to {dest}, starting from {org}",
    "to {dest} and back, departing from {org}",
)
CITY_CLAUSE = (
    "{we} will be departing from {org} and heading to {dest}",
    "{we} plan to set off from {org} and visit {dest}",
    "the trip starts in {org} and goes to {dest}",
    "{we} live in {org} and would like to visit {dest}",
    "{we} will leave from {org} and travel to {dest}",
    "{our} journey begins in {org} and leads to {dest}",
)
# several cities of a state; {cities} is "2 cities", "two different cities", …
STATE_INLINE = (
    "departing from {org} and visiting {cities} in {dest}",
    "from {org} to {cities} in {dest}",
    "starting in {org} and covering {cities} in {dest}",
    "starting from {org} and exploring {cities} across {dest}",
    "originating from {org} and touring {cities} in {dest}",
    "that starts in {org} and includes visits to {cities} in {dest}",
    "taking off from {org} to explore {cities} throughout {dest}",
    "leaving from {org} to visit {cities} in {dest}",
    "leaving {org} for {cities} in the state of {dest}",
    "from {org} to {dest}, during which {we} will visit {cities}",
    "departing from {org} and heading to {dest} to see {cities}",
    "around {dest} with {cities} to see, departing from {org}",
)
STATE_CLAUSE = (
    "{we} will be setting off from {org} and intend to visit {cities} in {dest}",
    "{we} will be starting in {org} and would like to cover {cities} in {dest}",
    "{we} will be departing from {org} and aim to visit {cities} in {dest}",
    "the trip starts in {org} and covers {cities} in {dest}",
    "{we} live in {org} and would love to explore {cities} in {dest}",
    "{our} journey begins in {org} and covers {cities} in {dest}",
)
CITIES = (
    "{n} cities",
    "{n} cities",
    "{n} different cities",
    "{n} distinct cities",
    "{n} separate cities",
    "{n} unique cities",
)
# where the length of the trip suggests more
ONE_CITY_CLAUSE = "the whole trip visits one city only"

# the party; {n} is a number or its word
ALONE_INLINE = (
    "for one person",
    "for 1 person",
    "for a single person",
    "for a solo traveler",
    "for a single traveler",
)
ALONE_CLAUSE = (
    "I will be traveling alone",
    "this is a solo trip",
    "I am traveling on my own",
    "the trip is for a single person",
    "the travel should be planned for one person",
)
PARTY_INLINE = (
    "for {n} people",
    "for a group of {n}",
    "for a group of {n} people",
    "for a party of {n}",
    "for {n} travelers",
    "for {n} individuals",
    "for {n} adults",
)
PARTY_CLAUSE = (
    "we are a group of {n}",
    "there will be {n} of us",
    "we are {n} people traveling together",
    "the trip is for {n} people",
    "the journey will be for a group of {n}",
    "we will travel as a party of {n}",
)
TWO_INLINE = ("for two", "for a couple", "for a pair")
TWO_CLAUSE = ("there are two of us", "we are a couple")
THREE_INLINE = ("for a trio",)

# {range} is "from March 3rd to March 5th, 2022" and its kin; {first} and {last} are single dates
DATES_CLAUSE = (
    "the travel dates are {range}",
    "the trip is scheduled {range}",
    "{we} will be traveling {range}",
    "the visit will be {range}",
    "{our} travels are planned {range}",
    "the trip will begin on {first} and conclude on {last}",
    "{we} would leave on {first} and return on {last}",
)
ONE_DAY_CLAUSE = (
    "the travel date is {first}",
    "{we} will be traveling on {first}",
    "the trip is scheduled for {first}",
)

BUDGET_INLINE = (
    "with a budget of {usd}",
    "with a total budget of {usd}",
    "on a budget of {usd}",
    "within a budget of {usd}",
    "with up to {usd} to spend",
    "for at most {usd} in total",
)
BUDGET_CLAUSE = (
    "the budget for this trip is {usd}",
    "the budget for this trip is set at {usd}",
    "the entire travel budget is {usd}",
    "{our} budget is {usd}",
    "{our} budget is set at {usd}",
    "{our} outlined budget is {usd}",
    "{our} budget is up to {usd}",
    "{we} have a budget of {usd}",
    "{we} have a budget of {usd} to cover all expenses",
    "{our} budget allows {us} to spend up to {usd}",
    "{we} can spend {usd} at most",
    "the total cost must stay within {usd}",
)
REVISED_BUDGET_CLAUSE = (
    "{our} revised budget is set at {usd}",
    "{our} budget is now {usd}",
    "{our} new budget is adjusted to {usd}",
    "{our} updated budget is {usd}",
    "{our} budget was {old} at first, but {our} new budget is adjusted to {usd}",
    "the budget was originally {old}, and it is now {usd}",
    "instead of the {old} first planned, {our} revised budget is {usd}",
    "{our} budget has been adjusted from {old} to {usd}",
    "{we} first thought of {old}, but {our} updated budget is {usd}",
)

NO_WISHES = (
    (
        "{we} have no specific preferences about house rules, cuisine, accommodations, or"
        " transportation"
    ),
    "{we} have no particular preferences for {our} stay",
    "everything else is up to you",
)
LEAD_INS = ("Also, ", "Additionally, ", "In addition, ", "Furthermore, ")
CLOSINGS = (
    "Thank you!",
    "Thanks in advance.",
    "Thank you for your help.",
    "Many thanks.",
    "Could you help {us} with this plan?",
    "{We} look forward to your suggestions.",
    "I would appreciate your help.",
)

# ---- wishes: clauses without their full stop, one table per kind

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
