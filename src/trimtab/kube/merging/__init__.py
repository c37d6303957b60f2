"""How objects merge: patches, sets of fields, server-side apply, and who owns what afterwards.

Pure: values and functions come from their own modules.
"""
