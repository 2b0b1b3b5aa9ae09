# SPDX-License-Identifier: Apache-2.0
"""Networks and kinds of work that nobody tuned for: MODELS has a builder of each, by name."""
from . import kinds, language, sets, signals, vision, volumes
from .net import MODELS, Net
