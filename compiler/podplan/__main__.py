"""``python -m podplan``"""

from podplan.cli import main

main()
