#: loading, crash
raise GeneratorExit
