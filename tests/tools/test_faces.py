import hashlib
import itertools

from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.domains.travelplanner.tools.faces import COMPACT
from tripwright.tools.face import number
from tripwright.tools.toolbox import ToolBox

ANSWERS_OF_THE_JSON_FACES = "7d7022995d839e63b0ca25ec650d842b85d2f2d21175567d5a86db514f3a3e74"


def test_compact_is_cheapest_first_with_the_name_last_and_no_spaces(world):
    tools = TravelTools(world)
    assert (
        COMPACT.answer(tools.search_flights("Boston", "Rockford", "2022-03-16")).text
        == '{"rows":[[88,"2 hours 10 minutes","F1"],[88.5,"2 hours 0 minutes","F3"],[120,"2 hours 5'
        ' minutes","F2"]]}'
    )
    # equal prices keep the file order
    assert (
        COMPACT.answer(tools.search_restaurants("Boston")).text
        == '{"rows":[["A",12,"Pizza","(A) Cheap \\"A\\""],["B",12,"BBQ","(B) Cheap B"],["C",50,'
        '"Tea, Indian","(C) Dear Café"]]}'
    )
    assert (
        COMPACT.answer(tools.search_accommodations("Boston")).text
        == '{"rows":[["A",131.5,"Private room",1,1,"No smoking","(A) Nook"],["B",548,"Entire'
        ' home/apt",2,2,"No children under 10 & No parties","(B) Loft"]]}'
    )
    assert COMPACT.answer(tools.search_attractions("Boston")).text == '{"rows":[["Old Park"]]}'
    found = COMPACT.answer(tools.search_ground_transportation("Boston", "Rockford", "taxi")).text
    assert found == '{"duration":"16 hours 1 min","distance":"1,118 km","cost":1118}'


def test_what_models_were_trained_on_has_not_changed(world):
    """Answers and errors of the JSON faces, byte for byte: a model that learned to read them would
    go wrong on others."""
    places = ["Boston", "Rockford", "Tampa", "Massachusetts", "Bostn"]
    others = ["2022-03-16", "2022-02-30", "self-driving", "bus", "2*3", "<|im_end|>", 3]
    values = [*places, *others]
    digest = hashlib.sha256()
    for box in (ToolBox(world, face_named("planner_r1")), ToolBox(world, face_named("compact"))):
        for function in (schema["function"] for schema in face_named("planner_r1").schemas()):
            names = function["parameters"]["required"]
            calls = [
                dict(zip(names, chosen, strict=True))
                for chosen in itertools.product(values, repeat=len(names))
            ]
            for arguments in [*calls, {}, {"day": 1}, "{", "[]"]:
                answer = box.call(function["name"], arguments)
                digest.update(f"{answer.error} {answer.text}\n".encode())
    assert digest.hexdigest() == ANSWERS_OF_THE_JSON_FACES


def test_numbers():
    exact = {88.0: 88, 88.5: 88.5, -0.0: 0, 1e18: 10**18, 0.1 + 0.2: 0.3, 1e-9: 1e-9}
    assert [number(x) for x in exact] == list(exact.values())
