"""A museum of fishing and lighthouses on an island that does not exist."""

TEXT = """\
# / Skarvholm Museum of Fishing
In the old salt house on the quay of Skarvholm we keep what the island lived from for four hundred years:
its fish, its boats, its nets and the lights that brought them home. Open daily from ten to five, and in
winter when the door is.

The rooms: [species](/species/), [boats](/boats/), [nets and trawls](/nets/), [lighthouses](/lighthouses/)
and [the harbour](/harbour/). Visitors ask most often for the [plaice](/species/plaice.html) in its tank,
the [cod](/species/cod.html) that hangs over the stairs, the [beam trawl](/nets/beam-trawl.html), the [great
lens](/lighthouses/fresnel-lens.html) and the cutter [Havsula](/boats/havsula.html).

Our neighbours: the [almanac](//almanac/), the [rowing club](//club/), and across the world our sister
village, [Pureunman](//port/). The [friends of the museum](//mirror/) keep a copy of these pages.

# /species/ Species
The fish that made the island, and some that only visit: [cod](/species/cod.html),
[plaice](/species/plaice.html), [sole](/species/sole.html), [herring](/species/herring.html),
[mackerel](/species/mackerel.html), [turbot](/species/turbot.html), [monkfish](/species/monkfish.html),
[brown shrimp](/species/shrimp.html) and [Norway lobster](/species/lobster.html).

# /species/cod.html Cod
A cod carries a barbel on its chin, three fins on its back and a pale line along its side. It eats whatever
moves near the bottom: sand eels, crabs, smaller cod. In February the shoals gather on the banks, and a
large female releases five million eggs.

Split, salted and dried on the rocks, cod keeps for years. It fed the ships of three centuries, and the
price of salt decided whether Skarvholm had a good winter.

# /species/plaice.html Plaice
Plaice change colour to match the ground they lie on. Within minutes the skin of a plaice takes up the grain
of sand, gravel or even a chessboard laid under it: cells in the skin spread or gather their pigment as the
eyes see fit. Only the orange spots remain.

A young plaice swims upright. At six weeks its left eye wanders over the head to the right side, the fish
tips over, and spends the rest of its life lying on its blind side, buried to the eyes.

# /species/sole.html Sole
The common sole hides by day and hunts worms by night, feeling for them with fringes of skin under its
snout. It is the fish that pays for the diesel: a beam trawler with tickler chains is built to wake sole out
of the mud. In cold winters they gather in the deep pits, and the fleet follows.

# /species/herring.html Herring
Herring come to the surface at dusk in shoals of a million. The drift net catches them by the gills, and its
mesh decides the size. In the year of the great catch the girls of the island gutted sixty fish a minute,
their fingers wrapped in rags against the salt.

# /species/mackerel.html Mackerel
The mackerel has no swim bladder and must swim or sink. It arrives in June in the wake of the sprat and
takes a bare hook with a feather. Eaten the same day it is the best fish of summer; on the second day it is
bait.

# /species/turbot.html Turbot
Turbot are left-eyed, nearly round and studded with bony knobs instead of scales. They lie in wait on coarse
ground where nets are torn, which is why one turbot costs as much as a box of dabs.

# /species/monkfish.html Monkfish
The anglerfish, sold without its head as monkfish, dangles a lure of skin above a mouth as wide as its body.
Skippers threw it back until cooks of the sixties discovered that the tail tastes of lobster.

# /species/shrimp.html Brown shrimp
Brown shrimp live in the shallows and are boiled on board in sea water, minutes after the catch. The small
beam trawls that take them roll on bobbins instead of chains, and a sieve net lets young plaice escape.
Peeling remains handwork.

# /species/lobster.html Norway lobster
The Norway lobster digs burrows in soft mud at eighty metres and leaves them at dawn and dusk. It is caught
with creels or a light trawl at first light; its eyes, made for dim blue water, are blinded by the sun on
deck.

# /boats/ Boats
Five vessels, afloat or in the hall: the sailing cutter [Havsula](/boats/havsula.html), the steam drifter
[Provider](/boats/provider.html), the beam trawler [Two Sisters](/boats/two-sisters.html), the
[faering](/boats/faering.html), a rowing boat of four planks, and the [lifeboat](/boats/lifeboat.html).

# /boats/havsula.html The cutter Havsula
Havsula, the gannet, was built of oak on larch in 1887 and fished under sail for forty years with a crew of
four and a boy. She was restored plank by plank; of the old hull the keel and eleven frames remain. In July
she takes visitors round the skerries.

# /boats/provider.html The steam drifter Provider
Provider burned four tons of coal a day and shot two miles of drift nets each night. Her capstan, driven by
steam through the hollow spindle, hauled them in five hours; without it twelve men had walked in a circle.

# /boats/two-sisters.html The beam trawler Two Sisters
Two Sisters tows two trawls at once, one from each derrick, at six knots. Her engine of two thousand
horsepower drinks as much in a week as Havsula's crew ate bread in a lifetime. When one net catches on a
wreck, the skipper has seconds to slip the other, or she capsizes.

# /boats/faering.html The faering
A faering is rowed by two with two oars each, weighs no more than a man can drag, and has been built by eye
in the same shape for a thousand years. Ours was carved up for a hen house in 1950, and put together again.

# /boats/lifeboat.html The lifeboat
The pulling lifeboat of 1902 rights itself: sealed cases of air at both ends and a ton of iron in the keel
turn it upright in six seconds. It went out forty-one times, and brought home a hundred and twelve people
and a dog.

# /nets/ Nets and trawls
How fish are caught decides what else is: [beam trawl](/nets/beam-trawl.html), [otter
trawl](/nets/otter-trawl.html), [drift net](/nets/drift-net.html), [long line](/nets/long-line.html), and
how [nets are mended](/nets/mending.html).

# /nets/beam-trawl.html Beam trawl
A beam of wood, later of steel, holds the mouth of the net open whatever the speed of the boat; two iron
shoes carry it over the ground. Tickler chains ahead of the foot rope chase flatfish out of the sand.

It is simple and thorough, and it ploughs the sea bed. Electric pulses were tried instead of chains and
forbidden again; wings that ride on their own pressure wave save a fifth of the fuel.

# /nets/otter-trawl.html Otter trawl
Otter boards spread the net of an otter trawl: two heavy doors, set at an angle on the warps, sheer outwards
as they are towed, like kites under water. No beam is needed, so the mouth of the net may be thirty metres
wide.

The boards raise a cloud of mud that herds the fish inwards. Floats lift the head line; rollers carry the
foot rope over stones.

# /nets/drift-net.html Drift net
A curtain of fine mesh hangs from corks at the surface and drifts with the tide, the boat lying to it like a
kite to its string. Herring swim into it in the dark. Lost nets go on fishing for years, and on the high
seas the long ones are banned.

# /nets/long-line.html Long line
Two thousand hooks on a mile of line, each baited by hand with whelk or squid while the children were at
school, or instead. The line is shot over the stern at night and hauled at dawn. It spares the bottom and
the young fish, not the fingers.

# /nets/mending.html How nets are mended
Cut the hole to whole meshes first: mending begins with a knife. Load the needle, start at a three-legger,
and tie each new mesh with a sheet bend round the gauge. A good mender closes a hole as wide as a door
before the kettle boils. The [knots](//almanac/knots.html) are in the almanac.

# /lighthouses/ Lighthouses
Four lights stand around the island: [Outer Skerry](/lighthouses/outer-skerry.html), the [harbour
light](/lighthouses/harbour-light.html), the [leading lights](/lighthouses/leading-lights.html) and the lost
tower of [Grimsand](/lighthouses/grimsand.html). The hall shows the [Fresnel
lens](/lighthouses/fresnel-lens.html) and [how the keepers lived](/lighthouses/keepers.html).

# /lighthouses/fresnel-lens.html The Fresnel lens
A Fresnel lens gathers nearly all the light of a lamp into a beam, with a tenth of the glass that a plain
lens of that power would need. Augustin Fresnel cut the lens into rings, each a prism that bends the light
just enough.

Ours is of the first order: two and a half metres high, a thousand prisms in a frame of bronze. It floats on
a trough of mercury, so that a clockwork can turn five tons with the weight of a child.

# /lighthouses/outer-skerry.html Outer Skerry
The tower of Outer Skerry is dovetailed granite, forty-one metres high, each stone locked to its neighbours
because waves break over the lantern. Building took nine summers of low tides. It flashes three times every
twenty seconds.

# /lighthouses/harbour-light.html The harbour light
The small cast-iron light at the end of the mole shows green to those who enter. It was lit with whale oil,
paraffin, gas and at last with a diode no bigger than a barley corn.

# /lighthouses/leading-lights.html Leading lights
Two lamps, one high and one low, stand in line with the channel. Keep them one above the other and you have
four fathoms all the way; open them, and you have rocks. The rear light stands in the churchyard.

# /lighthouses/grimsand.html Grimsand
The iron tower on the moving sands of Grimsand stood for eleven years. In the gale of January 1853 its light
was seen at two in the morning and not at three. Nothing was ever found but the bell, which hangs in our
stairwell.

# /lighthouses/keepers.html How the keepers lived
Three men, so that two could share a watch if one fell ill: six weeks on the rock, two ashore. They trimmed
wicks, wound the clockwork every four hours, polished brass, carved ships, and were not on speaking terms by
the fifth week.

# /harbour/ The harbour
The mole of 1794 was built by prisoners of war from stones that the ice had left on the moor. Inside lie the
[fish market](/harbour/market.html), the [ice house](/harbour/ice-house.html) and the slip of the [rowing
club](//club/). At springs the basin dries out, so read the [tide tables](//almanac/tides.html).

# /harbour/market.html The fish market
Fish is sold by the clock: the price falls with the hand until a buyer presses the button. A box lasts four
seconds. The hall opens at five, and by seven the lorries are on the ferry.

# /harbour/ice-house.html The ice house
Before there were machines, ice came by sailing ship from mountain lakes and was kept under sawdust in this
vault, where it lasted until September. The thick turf roof keeps it at four degrees to this day, and bats
have moved in.
"""
