"""What is known of the kinds: their schemas, what is defaulted, pruned and refused.

Pure: values and functions come from their own modules.
"""
