"""Sentence encoders: texts to vectors.

- ``encoder.py``: the protocols;
- ``onnx_encoder.py``: encoders on ONNX Runtime; ``onnx_folder.py``: their files and settings;
- ``loading.py``: encoders by name; ``hub.py``: files of the Hugging Face hub;
  ``sentence_transformers_encoder.py``: the way by torch;
- ``encoding.py``: many texts, checked and cached; ``vector_cache.py``: the cache on disk.
"""
