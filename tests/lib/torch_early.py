"""PyTorch, imported while nothing looks for garbage, and never looked at for it later: neither
starting a program then takes so long, nor starting its workers, which would copy what the
search touches. Import it before torch."""
import gc

gc.disable()
import torch

gc.freeze()
gc.enable()
