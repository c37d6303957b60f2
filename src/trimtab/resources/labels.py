"""What is written on the Secrets that hold records, for whoever only wants to know which there are."""

from __future__ import annotations

from typing import Final

#: `head` on the one Secret that every record has, `chunk` on the others
RECORD_LABEL: Final = "trimtab.dev/record"
#: the unit that a head is the record of
UNIT_ANNOTATION: Final = "trimtab.dev/unit"
