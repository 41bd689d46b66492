"""Charts as SVG, drawn here: a page that needs no library is a page that still opens in ten years.

A chart has no width of its own. Horizontal places are percentages, vertical ones pixels, so that a chart fills a telephone as
well as a wall and its letters stay as large as the text around it. Colours are classes (`p0` for the first policy, `n0` for
the first node); the style sheet says what they are in light and in dark.
"""
