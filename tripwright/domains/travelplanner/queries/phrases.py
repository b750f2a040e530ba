"""What a trip request may be made of, apart from its wishes: openings, dates, parties, routes,
budgets, closings.

The tables follow the phrasing of the 45 official training requests (row T2). Slots: {we} {our} {us}
{are} {ourselves} are the speaker's words. Every phrase keeps to what `queries.reading` reads, and
`tests/queries` reads thousands of texts back.
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
