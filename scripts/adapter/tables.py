"""Tables with questions on their cells, in the layouts in which tables reach a reader as text."""

from __future__ import annotations

import random
from dataclasses import dataclass

from adapter.passages import NO, NONE, YES, Passage, Question, heading
from adapter.values import GOODS, ROLES, TEAMS, Values
from adapter.writing import Block, cut


@dataclass(frozen=True)
class Column:
    """A column: its label, the kind of its values, questions for a row's cell, and for the row of a cell."""

    label: str
    kind: str
    asks: str = ""
    finds: str = ""


@dataclass(frozen=True)
class Theme:
    """What a table is about. The first column names the rows; ``absent`` asks for what no column says."""

    titles: tuple[str, ...]
    key: Column
    columns: tuple[Column, ...]
    absent: str


_POOLS = {
    "goods": GOODS, "roles": ROLES, "teams": TEAMS,
    "status": ["open", "done", "in progress", "on hold", "cancelled", "shipped", "approved", "rejected"],
    "cause": ["water tank empty", "door not closed", "motor overheated", "sensor defective", "filter blocked",
              "battery low", "no connection", "paper jam", "pressure too low", "pressure too high", "overload",
              "lid open", "pump blocked", "fan does not turn", "calibration failed", "memory full"],
    "remedy": ["Refill the tank", "Close the door", "Let it cool for 30 minutes", "Call customer service",
               "Rinse the filter", "Charge the battery", "Check the cable", "Remove the paper", "Reduce the load",
               "Replace the sensor", "Restart the device", "Open the valve", "Clean the pump", "Delete old files"],
    "topic": ["Opening", "Soil and water", "New materials", "Questions from members", "Workshop on welding",
              "Trade in the north", "Guided tour", "Panel on housing", "Reading", "Election of the board",
              "Energy in old buildings", "Lunch", "Closing remarks", "Data protection for clubs"],
    "task": ["order new chairs", "update the website", "check the fire doors", "write the annual report",
             "call the insurer", "paint the hall", "prepare the audit", "renew the licence", "hire a trainee",
             "translate the leaflet", "back up the server", "book the bus"],
    "dish": ["Tomato soup", "Grilled trout", "Lamb stew", "Cheese platter", "Mushroom pasta", "Apple tart",
             "Onion quiche", "Pea risotto", "Lemon sorbet", "Roast duck", "Bean salad", "Fish pie"],
    "country": ["Norway", "Chile", "Kenya", "Portugal", "Vietnam", "Canada", "Greece", "Ghana", "Peru", "Finland",
                "Japan", "Morocco", "Ireland", "Austria"],
    "course": ["Statistics I", "Organic Chemistry", "Medieval History", "Database Systems", "Ethics", "Anatomy",
               "Spanish A2", "Drawing", "Microeconomics", "Thermodynamics", "Linguistics", "Music Theory"],
    "text": ["rent", "salary", "electricity", "groceries", "insurance", "refund", "cash withdrawal", "phone bill",
             "donation", "train ticket", "books", "repair", "membership fee", "gift"],
    "param": ["Operating temperature", "Storage temperature", "Supply voltage", "Input current", "Protection class",
              "Ambient humidity", "Flow rate", "Tank volume", "Noise level", "Cable length", "Weight", "Display"],
    "spec": ["-10 to 45 °C", "24 V DC", "1.2 A", "IP54", "10 to 90 %", "38 l/min", "2.5 litres", "52 dB(A)", "1.8 m",
             "14.2 kg", "128 x 64 pixels", "0.6 to 4 bar", "3,500 rpm", "230 V, 50 Hz", "1,450 W", "-20 to 70 °C"],
}  # fmt: skip
_THEMES = (
    Theme(("Staff", "Employees", "Staff directory", "Contacts"), Column("Name", "person"),
          (Column("Position", "roles", "What is {row}'s position?|What does {row} do?|What is the job of {row}?",
                  "Who is the {value}?|Who works as {value}?|Which person is {value}?"),
           Column("Department", "teams", "In which department does {row} work?|Which department is {row} in?",
                  "Who works in {value}?"),
           Column("Phone", "phone", "What is {row}'s phone number?|How can {row} be reached by phone?|phone of {row}",
                  "Whose number is {value}?"),
           Column("E-mail", "email", "What is {row}'s e-mail address?|email {row}", "Whose address is {value}?"),
           Column("Room", "room", "In which room is {row}?|Where is {row}'s office?", "Who sits in {value}?"),
           Column("Since", "year", "Since when has {row} been employed?|When did {row} join?", "")),
          "What is {row}'s salary?|How old is {row}?|Where does {row} live?|Who is {row}'s supervisor?"),
    Theme(("Price list", "Products", "Stock list", "Catalogue", "Order"), Column("Article", "goods"),
          (Column("Article no.", "code", "What is the article number of the {row}?|Which number does the {row} have?",
                  "Which article has the number {value}?|What is {value}?"),
           Column("Price", "small", "What does the {row} cost?|What is the price of the {row}?|How much is the {row}?|price {row}",
                  "Which article costs {value}?"),
           Column("Stock", "int", "How many {row}s are in stock?|What is the stock of the {row}?", ""),
           Column("Weight", "kg", "How heavy is the {row}?|What does the {row} weigh?", "Which article weighs {value}?"),
           Column("Supplier", "company", "Who supplies the {row}?|Who is the supplier of the {row}?",
                  "Which article comes from {value}?|What does {value} supply?"),
           Column("Delivery time", "weeks", "What is the delivery time of the {row}?|How long does delivery of the {row} take?", "")),
          "What colour is the {row}?|How long is the warranty on the {row}?|Who designed the {row}?"),
    Theme(("Error codes", "Faults", "Troubleshooting", "Error messages"), Column("Code", "error"),
          (Column("Meaning", "cause", "What does {row} mean?|What is the cause of error {row}?|What is error {row}?|error code {row}",
                  "Which error code means {value}?|Which code is shown for {value}?"),
           Column("Remedy", "remedy", "What should be done about {row}?|How do I fix {row}?|What is the remedy for {row}?",
                  "For which code is the remedy '{value}'?")),
          "How often does {row} occur?|Who is to be called about {row}?"),
    Theme(("Timetable", "Departures", "Trains", "Bus connections"), Column("To", "city"),
          (Column("Train", "code", "Which train goes to {row}?|What is the number of the train to {row}?",
                  "Where does train {value} go?|What is the destination of {value}?"),
           Column("Departure", "time", "When does the train to {row} leave?|At what time does it depart for {row}?|when does it leave for {row}",
                  "Where does the train at {value} go?"),
           Column("Arrival", "time", "When does the train arrive in {row}?|What is the arrival time in {row}?", ""),
           Column("Platform", "count", "From which platform does the train to {row} leave?|What is the platform for {row}?", ""),
           Column("Fare", "small", "How much is the fare to {row}?|What does a ticket to {row} cost?", "")),
          "Who drives the train to {row}?|How many coaches has the train to {row}?|Is there a dining car to {row}?"),
    Theme(("Account statement", "Transactions", "Bank statement"), Column("Description", "text"),
          (Column("Date", "date", "On which date was the entry '{row}' booked?|When was the {row} booked?", "What was booked on {value}?"),
           Column("Amount", "amount", "What was the amount of the entry '{row}'?|How much was the {row}?", "For what were {value} booked?"),
           Column("Balance", "amount", "What was the balance after the {row}?", ""),
           Column("Payee", "company", "Who was the payee of the entry '{row}'?|To whom went the {row}?", "What was paid to {value}?")),
          "In which city was the {row} paid?|Who authorised the {row}?"),
    Theme(("Programme", "Schedule", "Agenda", "Sessions"), Column("Session", "topic"),
          (Column("Time", "time", "When is '{row}'?|At what time does '{row}' begin?", "What takes place at {value}?|Which session begins at {value}?"),
           Column("Speaker", "person", "Who speaks in '{row}'?|Who is the speaker of '{row}'?|Who gives '{row}'?",
                  "In which session does {value} speak?|What does {value} talk about?"),
           Column("Room", "room", "In which room is '{row}'?|Where does '{row}' take place?", "Which session is in {value}?"),
           Column("Duration", "minutes", "How long is '{row}'?|How long does '{row}' last?", "")),
          "How many people attend '{row}'?|What does '{row}' cost?|In which language is '{row}'?"),
    Theme(("Action items", "Tasks", "To do", "Open points"), Column("Task", "task"),
          (Column("Owner", "person", "Who must {row}?|Who is to {row}?|Who is responsible for the task '{row}'?",
                  "What must {value} do?|What is {value}'s task?"),
           Column("Due", "date", "By when must somebody {row}?|When is '{row}' due?", "Which task is due on {value}?"),
           Column("Status", "status", "What is the status of '{row}'?", ""),
           Column("Hours", "int", "How many hours are planned for '{row}'?", "")),
          "What does '{row}' cost?|Who proposed '{row}'?"),
    Theme(("Menu", "Today's menu", "Dishes"), Column("Dish", "dish"),
          (Column("Price", "small", "How much is the {row}?|What does the {row} cost?", "Which dish costs {value}?"),
           Column("Calories", "number", "How many calories has the {row}?", ""),
           Column("Portion", "gram", "How large is a portion of {row}?", ""),
           Column("Cook", "person", "Who cooks the {row}?", "What does {value} cook?")),
          "Which wine goes with the {row}?|Is the {row} vegan?|Where does the {row} come from?"),
    Theme(("Statistics", "Figures by country", "Results", "Offices"), Column("Country", "country"),
          (Column("Revenue", "amount", "What was the revenue in {row}?|How high was the revenue in {row}?", "Which country had a revenue of {value}?"),
           Column("Employees", "int", "How many employees are there in {row}?|How many people work in {row}?", ""),
           Column("Growth", "percent", "What was the growth in {row}?|By how much did {row} grow?", ""),
           Column("Head", "person", "Who heads the office in {row}?|Who is in charge of {row}?", "Which country does {value} head?"),
           Column("Opened", "year", "When was the office in {row} opened?", "")),
          "What is the capital of {row}?|What was the profit in {row}?|What is the address in {row}?"),
    Theme(("Courses", "Lectures", "Course list", "Examinations"), Column("Course", "course"),
          (Column("Lecturer", "person", "Who teaches {row}?|Who is the lecturer of {row}?|who gives {row}", "What does {value} teach?|Which course does {value} give?"),
           Column("Day", "day", "On which day is {row}?", ""),
           Column("Time", "time", "At what time is {row}?|When does {row} begin?", ""),
           Column("Room", "room", "In which room is {row}?|Where is {row} taught?", "Which course is in {value}?"),
           Column("Exam", "date", "When is the exam in {row}?|What is the date of the {row} exam?", "Which exam is on {value}?"),
           Column("Credits", "count", "How many credits does {row} give?|How many credits are awarded for {row}?", "")),
          "What textbook is used in {row}?|How many students take {row}?|What is the fee for {row}?"),
    Theme(("Technical data", "Specifications", "Data sheet"), Column("Parameter", "param"),
          (Column("Value", "spec", "What is the {row_low}?|{row}?|Which {row_low} is given?|tell me the {row_low}", ""),),
          "Who measured the {row_low}?"),
)  # fmt: skip
_LAYOUTS = ("markdown", "markdown", "pipes", "tabs", "commas", "spaces", "list", "lines")


def table_passage(rng: random.Random) -> Passage:
    """Write a table, perhaps with a sentence before and after it, and cut a segment out of it."""
    theme = rng.choice(_THEMES)
    values = Values(rng)
    columns = rng.sample(theme.columns, rng.randint(min(2, len(theme.columns)), min(4, len(theme.columns))))
    n_rows = rng.randint(3, 10)
    keys = [_value(values, theme.key.kind, f"key{row}") for row in range(n_rows)]
    cells = [[_value(values, column.kind, f"{column.label}{row}") for column in columns] for row in range(n_rows)]
    blocks = _blocks(rng, theme, columns, keys, cells)
    absent = []
    for _ in range(4):
        column, new = rng.choice(columns), _value(values, theme.key.kind, f"new{len(absent)}")
        if new not in keys and column.asks:
            absent.append(Question(_wording(rng, column.asks, new, ""), NONE))
        if column.finds:
            cell = _value(values, column.kind, f"gone{len(absent)}")
            if all(cell not in row for row in cells):
                absent.append(Question(_wording(rng, column.finds, "", cell), NONE))
        absent.append(Question(_wording(rng, theme.absent, rng.choice(keys), ""), NONE))
        if unused := [one for one in theme.columns if one not in columns and one.asks]:
            absent.append(Question(_wording(rng, rng.choice(unused).asks, rng.choice(keys), ""), NONE))
    title = rng.choice(theme.titles)
    above = heading("" if rng.random() < 0.8 else f"{title.lower().replace(' ', '_')}.md", title if rng.random() < 0.3 else "")
    return cut(rng, "tables", blocks, absent, above)


def _value(values: Values, kind: str, key: str) -> str:
    return values.get(kind, key, _POOLS.get(kind))


def _wording(rng: random.Random, wordings: str, row: str, value: str) -> str:
    row_low = row if row[1:2].isupper() else row[:1].lower() + row[1:]
    return rng.choice(wordings.split("|")).format(row=row, value=value, row_low=row_low)


def _blocks(
    rng: random.Random, theme: Theme, columns: list[Column], keys: list[str], cells: list[list[str]]
) -> list[Block]:
    """Return the title, the header and the rows, each with its questions."""
    layout = rng.choice(_LAYOUTS)
    labels = [theme.key.label, *(column.label for column in columns)]
    rows = [[key, *row] for key, row in zip(keys, cells, strict=True)]
    order = list(range(len(labels)))
    if rng.random() < 0.3:
        rng.shuffle(order)
    labels, rows = [labels[at] for at in order], [[row[at] for at in order] for row in rows]
    blocks = []
    if rng.random() < 0.6:
        blocks.append(Block("", rng.choice(["{}", "# {}", "## {}", "**{}**"]).format(rng.choice(theme.titles))))
    header = _header(layout, labels, rows)
    for number, row in enumerate(rows):
        text = _row(layout, labels, row, rows)
        if number == 0 and header:
            text = f"{header}\n{text}"
        questions = _questions(rng, columns, keys[number], cells[number], cells)
        gap = "\n\n" if number == 0 and blocks else "\n"
        blocks.append(Block(gap, text, tuple(questions)))
    return blocks


def _questions(
    rng: random.Random, columns: list[Column], key: str, row: list[str], cells: list[list[str]]
) -> list[Question]:
    found = []
    for at, (column, value) in enumerate(zip(columns, row, strict=True)):
        others = [one[at] for one in cells]
        if column.asks:
            found.append(Question(_wording(rng, column.asks, key, ""), value))
        if column.finds and others.count(value) == 1:
            found.append(Question(_wording(rng, column.finds, "", value), key))
        if rng.random() < 0.12:
            other = rng.choice(others)
            truth = YES if rng.random() < 0.5 or other == value else NO
            stated = value if truth == YES else other
            found.append(Question(f"Is {stated} the {column.label.lower()} of {key}?", truth))
    return found


def _header(layout: str, labels: list[str], rows: list[list[str]]) -> str:
    if layout in ("list", "lines"):
        return ""
    rule = "\n" + "|".join(["", *(" --- " for _ in labels), ""]) if layout == "markdown" else ""
    return _row(layout, labels, labels, rows) + rule


def _row(layout: str, labels: list[str], row: list[str], rows: list[list[str]]) -> str:
    if layout == "markdown":
        return f"| {' | '.join(row)} |"
    if layout == "list":
        return f"- {row[0]}: " + ", ".join(f"{label} {cell}" for label, cell in zip(labels[1:], row[1:], strict=True))
    if layout == "lines":
        return "\n".join(f"{label}: {cell}" for label, cell in zip(labels, row, strict=True)) + "\n"
    if layout == "spaces":
        widths = [max(len(one[at]) for one in [labels, *rows]) + 2 for at in range(len(labels))]
        return "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    return {"pipes": " | ", "tabs": "\t", "commas": "; "}[layout].join(row)
