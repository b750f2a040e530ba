"""Which tags of OpenStreetMap stand for a kind of place:
https://wiki.openstreetmap.org/wiki/Map_features. Data only."""

from __future__ import annotations

SIGHTS = (("tourism", "attraction"), ("tourism", "museum"), ("historic", "monument"))
# The singular, in lower case: (key, value), …
KINDS: dict[str, tuple[tuple[str, str], ...]] = {
    "airport": (("aeroway", "aerodrome"),),
    "aquarium": (("tourism", "aquarium"),),
    "art gallery": (("tourism", "gallery"),),
    "attraction": SIGHTS,
    "bakery": (("shop", "bakery"),),
    "bar": (("amenity", "bar"),),
    "beach": (("natural", "beach"),),
    "botanical garden": (("garden:type", "botanical"),),
    "cafe": (("amenity", "cafe"),),
    "castle": (("historic", "castle"),),
    "cathedral": (("building", "cathedral"),),
    "church": (("building", "church"),),
    "cinema": (("amenity", "cinema"),),
    "gallery": (("tourism", "gallery"),),
    "garden": (("leisure", "garden"),),
    "hospital": (("amenity", "hospital"),),
    "hostel": (("tourism", "hostel"),),
    "hotel": (("tourism", "hotel"),),
    "landmark": SIGHTS,
    "library": (("amenity", "library"),),
    "mall": (("shop", "mall"),),
    "market": (("amenity", "marketplace"),),
    "memorial": (("historic", "memorial"),),
    "monument": (("historic", "monument"),),
    "mosque": (("building", "mosque"),),
    "museum": (("tourism", "museum"),),
    "palace": (("castle_type", "palace"),),
    "park": (("leisure", "park"),),
    "pharmacy": (("amenity", "pharmacy"),),
    "place": SIGHTS,
    "playground": (("leisure", "playground"),),
    "pub": (("amenity", "pub"),),
    "restaurant": (("amenity", "restaurant"),),
    "ruin": (("historic", "ruins"),),
    "shopping mall": (("shop", "mall"),),
    "sight": SIGHTS,
    "stadium": (("leisure", "stadium"),),
    "station": (("railway", "station"),),
    "supermarket": (("shop", "supermarket"),),
    "synagogue": (("building", "synagogue"),),
    "temple": (("building", "temple"),),
    "theater": (("amenity", "theatre"),),
    "theatre": (("amenity", "theatre"),),
    "theme park": (("tourism", "theme_park"),),
    "thing": SIGHTS,
    "train station": (("railway", "station"),),
    "viewpoint": (("tourism", "viewpoint"),),
    "zoo": (("tourism", "zoo"),),
}
# Words that a query has around a kind and that no map answers.
IGNORED_WORDS = frozenset(
    "a an and around best big center central centre city cheap close do downtown famous good"
    " historic historical in interesting local main major many most must near nearby nice notable"
    " of old popular see some the to top tourist visit well-known".split()
)
