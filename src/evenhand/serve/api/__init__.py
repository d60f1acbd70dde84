"""The API over HTTP: who may ask what, and how it is answered."""
