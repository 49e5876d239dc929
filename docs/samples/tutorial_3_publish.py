from ostraka import Release

clf.release_.save("model.ostraka")
release = Release.load("model.ostraka")
assert (release.predict(X_new) == clf.predict(X_new)).all()
