"""How much a procedure's model moves when it is trained again."""
