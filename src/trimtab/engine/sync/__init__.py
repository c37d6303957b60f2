"""A sync: options, hooks, order, plan and progress, all pure; and the doers that carry it out.

Values and functions come from their own modules, doers through the door of the engine.
"""
