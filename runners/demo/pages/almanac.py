"""An almanac, with a page that has moved, one that is lost, one for no index and one for no robot."""

TEXT = """\
# / The Skarvholm Almanac
Tides, weather, moon and kitchen for the people of the coast, set anew each autumn. This year's parts:
[tides](/tides.html), [weather lore](/weather.html), [knots](/knots.html), [the moon](/moon.html),
[recipes](/recipes.html), [birds](/birds.html) and [first aid on board](/first-aid.html).

Old friends may look for the [tide tables](/tide-tables.html) under their former name, or for the [list of
ferry captains](/ferry-captains.html), which the mice got. What is not finished is among the
[drafts](/drafts.html); the editor's [diary](/private/diary.html) is his own. For the past, go to the
[museum](//museum/); for the south, to the [harbour of Pureunman](//port/).

# /tides.html Tides
Twice a day the water rises and falls, because the earth turns under two bulges of the sea, one towards the
moon and one away from it. At full and new moon the sun pulls along and the tide is a spring tide; at half
moon it pulls across, and the tide is a neap.

At the slip of Skarvholm the mean range is four metres at springs and less than two at neaps. High water
comes about fifty minutes later each day. Add an hour in summer time. See also [the moon](/moon.html).

# /weather.html Weather lore
Red sky at night promises a dry morning, and it is right two times out of three: our weather comes from the
west, and an evening sun that lights high clouds from below has a clear horizon behind it.

A ring around the moon means ice clouds ahead of a warm front, and rain within a day. When gulls sit on the
mole and the barometer falls by more than three hectopascals in three hours, double the mooring lines.

# /knots.html Six knots
The bowline makes a loop that neither slips nor jams: the rabbit comes out of the hole, goes round the tree
and back into the hole. The clove hitch holds a fender to a rail. The sheet bend ties two ropes of different
thickness.

The reef knot is for reefing sails and for nothing else. A round turn and two half hitches moors a boat
under strain, and the figure of eight stops a line from running out of its block. Netmakers use the sheet
bend a thousand times a day: see [how nets are mended](//museum/nets/mending.html).

# /moon.html The moon
New moon, first quarter, full moon, last quarter: twenty-nine and a half days. Herring rise to the surface
in dark nights, so the drifters stayed in port around full moon, and that is when weddings were held. It
makes the [tides](/tides.html).

# /recipes.html Recipes from the galley
Fish soup: sweat leeks and carrots in butter, add potatoes and stock, simmer until soft, then lay in pieces
of cod or ling and take the pot off the fire. Cream, dill, and bread with it.

Soused herring: fry the fillets in rye flour, lay them hot into vinegar boiled with sugar, bay and onions,
and wait three days. Plaice is fried in butter with bacon, skin side first.

# /birds.html Birds of the skerries
The cormorant dries its wings because they are not waterproof, which lets it dive deeper. It gave the island
its name: skarv. Gannets fold their wings and enter the water at a hundred kilometres an hour. Terns come
from the far south in May and leave in August; keep dogs away from their scrapes in the shingle.

# /first-aid.html First aid on board
A man out of cold water is laid flat and kept flat, stripped, dried and wrapped; he is not rubbed and gets
no spirits. A fish hook is pushed through and its barb cut off. For a weever's sting put the foot in water
as hot as can be borne for half an hour: the heat destroys the venom. The beam trawlers carry a full
[medicine chest](//museum/boats/).

# /drafts.html Drafts
Half a page about fog signals and a list of things to ask the harbour master. Not fit to be found by
anybody.

# /private/diary.html The editor's diary
Nobody but the editor should read this. A robot that does has not read robots.txt.
"""
