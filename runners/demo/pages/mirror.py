"""What the mirror of the museum has of its own: its front page, and a list of the copies."""

TEXT = """\
# / Mirror of the Skarvholm museum
The friends of the museum keep this copy of its pages, for the days when the storm takes the line to the
island. The pages are the same, word for word, and lag behind by a night. [What is
mirrored](/mirrored.html). The original is [here](//museum/).

# /mirrored.html What is mirrored
Every page is copied. The ones that are asked for most: [plaice](/species/plaice.html),
[cod](/species/cod.html), [the beam trawl](/nets/beam-trawl.html), [the Fresnel
lens](/lighthouses/fresnel-lens.html), [the cutter Havsula](/boats/havsula.html) and [the
harbour](/harbour/).
"""
